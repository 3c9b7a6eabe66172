// Runs npm jsforce, unmodified, against the double at SALESFORCE_URL, whose client is SALESFORCE_CLIENT_ID with
// SALESFORCE_CLIENT_SECRET. It ends with 1 at the first thing that jsforce does not get as it should.
import jsforce from 'jsforce';
import { end, equal, fails, ok } from './assertions.mjs';

const url = process.env.SALESFORCE_URL;
const clientId = process.env.SALESFORCE_CLIENT_ID;
const clientSecret = process.env.SALESFORCE_CLIENT_SECRET;
const version = '61.0';

function connection(secret = clientSecret, more = {}) {
  return new jsforce.Connection({ version, oauth2: { clientId, clientSecret: secret, loginUrl: url }, ...more });
}

const conn = connection();

async function login() {
  const user = await conn.authorize({ grant_type: 'client_credentials' });
  ok(/^00D.{15}$/.test(user.organizationId) && /^005.{15}$/.test(user.id), 'who is signed in');
  equal(conn.instanceUrl, url, 'instance_url');
  await fails(() => connection('wrong').authorize({ grant_type: 'client_credentials' }), 'invalid_client', 'a wrong secret');
  await fails(() => connection().authorize({ grant_type: 'password' }), 'unsupported_grant_type', 'another grant');
}

async function records() {
  const made = await conn.sobject('Contact').create({ FirstName: 'Mere', LastName: 'Tau', Email: 'mere@example.nz' });
  ok(made.success && /^003.{15}$/.test(made.id), 'create');
  equal(await conn.sobject('Contact').update({ Id: made.id, FirstName: 'Mere R' }), { id: made.id, success: true, errors: [] }, 'update');

  const record = { LastName: 'Tau', Provider_Checkout_Key__c: 'k1' };
  const first = await conn.sobject('Contact').upsert(record, 'Provider_Checkout_Key__c');
  const again = await conn.sobject('Contact').upsert(record, 'Provider_Checkout_Key__c');
  equal([first.created, again.created, again.id], [true, false, first.id], 'upsert twice');
  return made.id;
}

async function schema() {
  const contact = await conn.describe('Contact');
  const key = contact.fields.find((f) => f.name === 'Provider_Checkout_Key__c');
  equal([key.unique, key.externalId, key.type, key.length], [true, true, 'string', 32], 'describe of a key');
  const status = (await conn.describe('Direct_Debit_Authority__c')).fields.find((f) => f.name === 'Status__c');
  equal(status.picklistValues.map((v) => v.value), ['Customer In Progress', 'Authorised'], 'describe of a picklist');
  await fails(() => conn.describe('Nothing__c'), 'NOT_FOUND', 'an unknown object');
  ok((await conn.limits()).DailyApiRequests.Max > 0, 'limits');
}

async function queries(contact) {
  for (let i = 0; i < 4; i++) {
    ok((await conn.sobject('Account').create({ Name: `Provider ${i}`, AccountNumber: String(i) })).success, 'create of an account');
  }
  const page = await conn.query('SELECT Id, Name FROM Account');
  equal([page.totalSize, page.done, page.records.length], [4, false, 3], 'a page');
  const last = await conn.queryMore(page.nextRecordsUrl);
  equal([last.done, last.records.map((r) => r.Name)], [true, ['Provider 3']], 'the last page');
  const found = await conn.sobject('Contact').find({ Email: 'mere@example.nz' }, ['Id', 'FirstName']).limit(2);
  equal(found.map((r) => [r.Id, r.FirstName]), [[contact, 'Mere R']], 'find');
  await fails(() => conn.sobject('Contact').find({ LastName: { $like: 'T%' } }), 'MALFORMED_QUERY', 'a form of a query that is not read');
  await fails(() => conn.query('SELECT Nothing FROM Account'), 'INVALID_FIELD', 'an unknown field');
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
    { method: 'GET', url: `${data}/query?q=SELECT+Amount+FROM+Opportunity+WHERE+Id+=+'@{opportunity.id}'`, referenceId: 'amount' },
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
  equal(made[3].body.records[0].Amount, 2990.5, 'a part that refers to another');
  return made[1].body.id;
}

async function content(opportunity) {
  const file = { Title: 'Agreement', PathOnClient: 'agreement.pdf', VersionData: Buffer.from('%PDF-1.7').toString('base64'),
    FirstPublishLocationId: opportunity, Provider_Checkout_Key__c: 'f1' };
  ok(/^068/.test((await conn.sobject('ContentVersion').create(file)).id), 'a file');
  await fails(() => conn.sobject('ContentVersion').create(file), 'DUPLICATE_VALUE', 'the same file again');
}

async function failures() {
  const contact = { LastName: 'Tau', Email: 'mere@example.nz' };
  const create = (options) => conn.sobject('Contact').create(contact, options);
  await fails(create, 'DUPLICATES_DETECTED', 'the stock rule');
  ok((await create({ headers: { 'Sforce-Duplicate-Rule-Header': 'allowSave=true' } })).success, 'a duplicate that is allowed');
  await fails(() => conn.sobject('Contact').create({ LastName: 'Tau', FirstName: 'x'.repeat(41) }), 'STRING_TOO_LONG', 'a long name',
    (error) => equal([error.errorCode, error.data.fields], ['STRING_TOO_LONG', ['FirstName']], 'its fields'));
  await fails(() => conn.sobject('Contact').create({ FirstName: 'Mere' }), 'REQUIRED_FIELD_MISSING', 'no last name');
  await fails(() => conn.sobject('Contact').create({ LastName: 'Tau', Nickname: 'x' }), 'INVALID_FIELD', 'an unknown field');
  await fails(() => conn.request('/nothing'), 'NOT_FOUND', 'an unknown resource');
  // The test has calls of these paths suffer a fault.
  for (const [kind, name] of [['locked_row', 'UNABLE_TO_LOCK_ROW'], ['request_limit', 'REQUEST_LIMIT_EXCEEDED'],
    ['unavailable', 'SERVER_UNAVAILABLE'], ['html', 'ERROR_HTTP_503']]) {
    await fails(() => conn.requestPatch(`/sobjects/Contact/Provider_Checkout_Key__c/${kind}`, { LastName: 'Tau' }), name, kind);
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
  ok((await other.requestPatch('/sobjects/Contact/Provider_Checkout_Key__c/expired_token', { LastName: 'Tau' })).success,
    'a call after the token has ended');
  equal(refreshed, 1, 'new tokens');
}

await login();
const contact = await records();
await schema();
await queries(contact);
await content(await composite());
await failures();
await expiry();
end(35);
