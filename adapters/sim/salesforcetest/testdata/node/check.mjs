// Runs npm jsforce, unmodified, against the simulator at SALESFORCE_URL, whose control path is served and whose client is
// SALESFORCE_CLIENT_ID with SALESFORCE_CLIENT_SECRET. It ends with 1 at the first thing that jsforce does not get as it should.
import { createHash } from 'node:crypto';
import jsforce from 'jsforce';
import { controlOf, end, equal, fails, ok } from './assertions.mjs';

const url = process.env.SALESFORCE_URL;
const clientId = process.env.SALESFORCE_CLIENT_ID;
const clientSecret = process.env.SALESFORCE_CLIENT_SECRET;
const version = '61.0';
const control = controlOf(url);

function connection(secret = clientSecret, more = {}) {
  return new jsforce.Connection({ version, oauth2: { clientId, clientSecret: secret, loginUrl: url }, ...more });
}

const conn = connection();

async function login() {
  const user = await conn.authorize({ grant_type: 'client_credentials' });
  ok(/^00D.{15}$/.test(user.organizationId) && /^005.{15}$/.test(user.id), 'who is signed in');
  equal(conn.instanceUrl, url, 'instance_url');
  await fails(() => connection('wrong').authorize({ grant_type: 'client_credentials' }), 'invalid_client', 'a wrong secret',
    (error) => equal(error.message, 'invalid client credentials', 'its description'));
  await fails(() => connection().authorize({ grant_type: 'password' }), 'unsupported_grant_type', 'another grant');
}

async function records() {
  const made = await conn.sobject('Contact').create({ FirstName: 'Mere', LastName: 'Tau', Email: 'mere@example.nz' });
  ok(made.success && /^003.{15}$/.test(made.id), 'create');
  const got = await conn.sobject('Contact').retrieve(made.id);
  equal([got.Id, got.Name, got.Phone, got.attributes.type], [made.id, 'Mere Tau', null, 'Contact'], 'retrieve');
  equal(await conn.sobject('Contact').update({ Id: made.id, Phone: '021' }), { id: made.id, success: true, errors: [] }, 'update');
  equal((await conn.sobject('Contact').retrieve(made.id, { fields: ['Phone'] })).Phone, '021', 'retrieve of one field');

  const record = { LastName: 'Tau', Provider_Checkout_Key__c: 'k1' };
  const first = await conn.sobject('Contact').upsert(record, 'Provider_Checkout_Key__c');
  const again = await conn.sobject('Contact').upsert(record, 'Provider_Checkout_Key__c');
  equal([first.created, again.created, again.id], [true, false, first.id], 'upsert twice');
  equal((await conn.sobject('Contact').destroy(first.id)).success, true, 'delete');
  await fails(() => conn.sobject('Contact').retrieve(first.id), 'ENTITY_IS_DELETED', 'a deleted record');
  return made.id;
}

async function schema() {
  const global = await conn.describeGlobal();
  ok(global.sobjects.some((o) => o.name === 'Direct_Debit_Authority__c' && o.custom && o.keyPrefix === 'a00'), 'global describe');
  const contact = await conn.describe('Contact');
  const key = contact.fields.find((f) => f.name === 'Provider_Checkout_Key__c');
  equal([key.unique, key.externalId, key.type, key.length], [true, true, 'string', 64], 'describe of a key');
  equal(contact.fields.find((f) => f.name === 'FirstName').length, 40, 'describe of a length');
  const status = (await conn.describe('Direct_Debit_Authority__c')).fields.find((f) => f.name === 'Status__c');
  equal(status.picklistValues.map((v) => v.value).slice(0, 2), ['Customer In Progress', 'Authorised'], 'describe of a picklist');
  await fails(() => conn.describe('Nothing__c'), 'NOT_FOUND', 'an unknown object');
  ok((await conn.limits()).DailyApiRequests.Max > 0, 'limits');
  ok((await conn.request('/services/data')).some((v) => v.version === version), 'versions');
}

async function accounts() {
  for (let i = 0; i < 4; i++) {
    ok((await conn.sobject('Account').create({ Name: `Provider ${i}`, AccountNumber: String(i) })).success, 'create of an account');
  }
  const keyed = { Name: 'One', Provider_Code__c: 'P1' };
  equal((await conn.sobject('Provider_Integration__c').upsert(keyed, 'Provider_Code__c')).created, true, 'upsert');
  equal((await conn.sobject('Provider_Integration__c').upsert(keyed, 'Provider_Code__c')).created, false, 'upsert again');
}

async function queries(contact) {
  const page = await conn.query('SELECT Id, Name FROM Account ORDER BY Name');
  equal([page.totalSize, page.done, page.records.length], [4, false, 3], 'a page');
  const last = await conn.queryMore(page.nextRecordsUrl);
  equal([last.done, last.records.map((r) => r.Name)], [true, ['Provider 3']], 'the last page');
  const all = await conn.query('SELECT Name FROM Account ORDER BY Name DESC').run({ autoFetch: true });
  equal(all.records.map((r) => r.Name), ['Provider 3', 'Provider 2', 'Provider 1', 'Provider 0'], 'pages that are fetched');
  const found = await conn.sobject('Contact').find({ Email: 'mere@example.nz' }, ['Id', 'LastName']).limit(2);
  equal([found.length, found[0].Id], [1, contact], 'find');
  await fails(() => conn.sobject('Contact').find({ LastName: { $like: 'T%' } }), 'MALFORMED_QUERY', 'a form of a query that is not read');
  equal(await conn.sobject('Account').count({ Name: 'Provider 1' }), 1, 'count');
  await fails(() => conn.query('SELECT Nothing FROM Account'), 'INVALID_FIELD', 'an unknown field');
  await fails(() => conn.query('SELECT Id FROM Account WHERE'), 'MALFORMED_QUERY', 'half a query');
}

function parts(email, headers) {
  const data = `/services/data/v${version}`;
  return [
    { method: 'PATCH', url: `${data}/sobjects/Contact/Provider_Checkout_Key__c/c1`, referenceId: 'contact', httpHeaders: headers,
      body: { LastName: 'Tau', Email: email } },
    { method: 'PATCH', url: `${data}/sobjects/Opportunity/Provider_Checkout_Key__c/o1`, referenceId: 'opportunity',
      body: { Name: 'Carpentry', StageName: 'Prospecting', CloseDate: '2027-02-01', Amount: 2990.5 } },
    { method: 'POST', url: `${data}/sobjects/OpportunityContactRole`, referenceId: 'role',
      body: { ContactId: '@{contact.id}', OpportunityId: '@{opportunity.id}' } },
    { method: 'GET', url: `${data}/sobjects/Opportunity/@{opportunity.id}?fields=Amount`, referenceId: 'amount' },
  ];
}

async function composite() {
  const send = (email, headers) => conn.requestPost('/composite', { allOrNone: true, compositeRequest: parts(email, headers) });
  const refused = (await send('mere@example.nz')).compositeResponse;
  equal(refused.map((p) => p.httpStatusCode), [400, 400, 400, 400], 'status of each part of a refused unit');
  equal(refused.map((p) => p.body[0].errorCode), ['DUPLICATES_DETECTED', 'PROCESSING_HALTED', 'PROCESSING_HALTED', 'PROCESSING_HALTED'],
    'codes of its parts');
  const made = (await send('mere@example.nz', { 'Sforce-Duplicate-Rule-Header': 'allowSave=true' })).compositeResponse;
  equal(made.map((p) => p.httpStatusCode), [201, 201, 201, 200], 'status of each part');
  equal(made[3].body.Amount, 2990.5, 'a part that refers to another');
  equal(made[0].httpHeaders.Location, `/services/data/v${version}/sobjects/Contact/${made[0].body.id}`, 'header of a part');
  return made[1].body.id;
}

async function content(opportunity) {
  const bytes = Buffer.from('%PDF-1.7 agreement');
  const digest = createHash('sha256').update(bytes).digest('hex');
  const version = { Title: 'Agreement', PathOnClient: 'agreement.pdf', VersionData: bytes.toString('base64'),
    FirstPublishLocationId: opportunity, PDF_SHA256__c: digest };
  const made = await conn.sobject('ContentVersion').create(version);
  ok(/^068/.test(made.id), 'a file as JSON');
  const got = await conn.sobject('ContentVersion').retrieve(made.id);
  ok(/^069/.test(got.ContentDocumentId), 'its document');
  equal([got.ContentSize, got.FileType, got.IsLatest], [bytes.length, 'PDF', true], 'what is known of it');
  equal(await conn.request({ method: 'GET', url: got.VersionData }), bytes.toString(), 'its content');
  const links = await conn.query(`SELECT LinkedEntityId FROM ContentDocumentLink WHERE ContentDocumentId = '${got.ContentDocumentId}'`);
  ok(links.records.some((l) => l.LinkedEntityId === opportunity), 'its link');
  await fails(() => conn.sobject('ContentVersion').create(version), 'DUPLICATE_VALUE', 'the same file again');
  const file = { ...version, PDF_SHA256__c: 'other', VersionData: Buffer.from('multipart').toString('base64') };
  const form = await conn.sobject('ContentVersion').create(file, { multipartFileFields: { VersionData: { filename: 'a.pdf', contentType: 'application/pdf' } } });
  const sent = await conn.sobject('ContentVersion').retrieve(form.id);
  equal(await conn.request({ method: 'GET', url: sent.VersionData }), 'multipart', 'a file as a form');
}

async function failures() {
  const contact = { LastName: 'Tau', Email: 'mere@example.nz' };
  const create = (options) => conn.sobject('Contact').create(contact, options);
  await fails(create, 'DUPLICATES_DETECTED', 'the stock rule',
    (error) => ok(error.data.duplicateResult.matchResults[0].matchRecords.length > 0, 'what it matches'));
  ok((await create({ headers: { 'Sforce-Duplicate-Rule-Header': 'allowSave=true' } })).success, 'a duplicate that is allowed');
  await fails(() => conn.sobject('Contact').create({ LastName: 'Tau', FirstName: 'x'.repeat(41) }), 'STRING_TOO_LONG', 'a long name',
    (error) => equal([error.errorCode, error.data.fields], ['STRING_TOO_LONG', ['FirstName']], 'its fields'));
  await fails(() => conn.sobject('Contact').create({ FirstName: 'Mere' }), 'REQUIRED_FIELD_MISSING', 'no last name');
  await fails(() => conn.sobject('Contact').create({ LastName: 'Tau', Nickname: 'x' }), 'INVALID_FIELD', 'an unknown field');
  await fails(() => conn.request('/nothing'), 'NOT_FOUND', 'an unknown resource');
  const once = { times: 1, path: '/services/data/*/sobjects/Contact' };
  for (const [kind, name] of [['locked_row', 'UNABLE_TO_LOCK_ROW'], ['request_limit', 'REQUEST_LIMIT_EXCEEDED'],
    ['unavailable', 'SERVER_UNAVAILABLE'], ['html', 'ERROR_HTTP_503'], ['validation_rule', 'FIELD_CUSTOM_VALIDATION_EXCEPTION']]) {
    await control('POST', 'faults', { ...once, kind });
    await fails(() => conn.sobject('Contact').create({ LastName: 'Tau' }), name, kind);
  }
  ok(conn.limitInfo.apiUsage.used > 20 && conn.limitInfo.apiUsage.limit === 100000, 'limit info');
}

async function expiry() {
  let refreshed = 0;
  const other = connection(clientSecret, {
    refreshFn: async (c, done) => {
      refreshed++;
      await c.authorize({ grant_type: 'client_credentials' });
      done(null, c.accessToken);
    },
  });
  await other.authorize({ grant_type: 'client_credentials' });
  await control('DELETE', 'tokens');
  equal((await other.query('SELECT COUNT() FROM Contact')).totalSize > 0, true, 'a call after the token has ended');
  equal(refreshed, 1, 'new tokens');
}

await login();
const contact = await records();
await schema();
await accounts();
await queries(contact);
await content(await composite());
await failures();
await expiry();

const { entries } = await control('GET', 'journal');
equal(entries.filter((e) => e.key === 'o1').map((e) => e.action), ['created'], 'the journal of an enrolment');
ok((await control('GET', 'statistics')).records.Contact > 0, 'statistics');
end(50);
