// Runs the official GoCardless client, unmodified, against the simulator at GOCARDLESS_URL, whose control path is served
// and whose token is GOCARDLESS_TOKEN. It ends with 1 at the first thing that the client does not get as it should.
import assert from 'node:assert/strict';
import http from 'node:http';
import { GoCardlessClient } from 'gocardless-nodejs';
import { Environments } from 'gocardless-nodejs/constants';
import * as webhooks from 'gocardless-nodejs/webhooks';
import { controlOf, end, equal, fails, ok } from './assertions.mjs';

const url = process.env.GOCARDLESS_URL;
const token = process.env.GOCARDLESS_TOKEN;
const secret = 'node_secret';
const control = controlOf(url);

function clientOf(secretToken, options = {}) {
  const client = new GoCardlessClient(secretToken, Environments.Sandbox, options);
  client._api._baseUrl = url;
  return client;
}

const client = clientOf(token);

// An inbox for notifications, which answers 498 where the client's own code refuses the signature.
const inbox = [];
const server = http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    const header = request.headers['webhook-signature'];
    try {
      inbox.push({ body, header, ...webhooks.parseWithMeta(body, secret, header) });
      response.writeHead(204).end();
    } catch {
      response.writeHead(498).end();
    }
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
await control('POST', 'webhooks', { url: `http://127.0.0.1:${server.address().port}/`, secret });

async function until(found, what) {
  for (let tries = 0; tries < 200; tries++) {
    if (found()) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${what} did not happen within 10 s`);
}

async function readiness() {
  const list = await client.creditors.list();
  equal(list.creditors.length, 1, 'creditors');
  const scheme = list.creditors[0].scheme_identifiers.find((s) => s.scheme === 'becs_nz');
  equal(scheme.status, 'active', 'scheme identifier');
  equal(scheme.minimum_advance_notice, 10, 'minimum advance notice');
  ok(scheme.reference, 'authorisation code');
  return list.creditors[0].id;
}

function requestFor(checkout, creditor) {
  return {
    mandate_request: { scheme: 'becs_nz', currency: 'NZD', description: 'Carpentry', metadata: { checkout_id: checkout } },
    metadata: { checkout_id: checkout },
    links: { creditor },
  };
}

async function create(creditor) {
  const created = await client.billingRequests.create(requestFor('CHK1', creditor), 'CHK1.1');
  ok(/^BRQ/.test(created.id), 'id of a billing request');
  equal(created.status, 'pending', 'status of a new billing request');
  equal(created.metadata, { checkout_id: 'CHK1' }, 'metadata');
  equal(created.mandate_request.scheme, 'becs_nz', 'scheme');
  equal(created.links.creditor, creditor, 'creditor');
  equal(created.links.mandate_request_mandate, undefined, 'mandate of a new billing request');
  equal(created.actions.map((a) => a.status), ['completed', 'pending', 'pending', 'pending'], 'actions');
  equal(created.__response__.statusCode, 201, 'status code of a create');

  const replayed = await client.billingRequests.create(requestFor('CHK1', creditor), 'CHK1.1');
  equal(replayed.id, created.id, 'the client follows a 409 to the resource');
  equal(replayed.__response__.statusCode, 200, 'it gets that resource');
  const raising = clientOf(token, { raiseOnIdempotencyConflict: true });
  await fails(() => raising.billingRequests.create(requestFor('CHK1', creditor), 'CHK1.1'),
    'IdempotentCreationConflictError', 'a replay', (error) => equal(error.conflictingResourceId, created.id, 'conflict'));
  equal((await client.billingRequests.find(created.id)).id, created.id, 'billing request by id');
  return created.id;
}

async function hostedPage(id) {
  const flow = await client.billingRequestFlows.create({
    redirect_uri: 'https://ours.example/back', exit_uri: 'https://ours.example/exit', lock_currency: true,
    show_redirect_buttons: true, language: 'en',
    prefilled_customer: { given_name: 'Ana', family_name: 'Tau', email: 'ana@example.nz' },
    links: { billing_request: id },
  });
  ok(/^BRF/.test(flow.id), 'id of a flow');
  ok(flow.authorisation_url.startsWith(url), 'authorisation_url');
  equal(Date.parse(flow.expires_at) - Date.parse(flow.created_at), 7 * 24 * 3600 * 1000, 'a flow lives for 7 days');
  equal(flow.links.billing_request, id, 'billing request of a flow');

  const send = (step, fields) => fetch(flow.authorisation_url + step,
    { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
  equal((await fetch(flow.authorisation_url)).status, 200, 'the hosted page');
  equal((await send('/details', { given_name: 'Ana', family_name: 'Tau', email: 'ana@example.nz' })).status, 303, 'details');
  equal((await send('/account', { account_holder_name: 'Ana Tau', bank_code: '12', branch_code: '3140', account_number: '0171323',
    account_number_suffix: '50', authority_confirmed: 'yes' })).status, 303, 'account');
  const done = await send('/check', {});
  equal(done.headers.get('location'), 'https://ours.example/back', 'the payer is led back');
}

async function fulfilled(id) {
  const request = await client.billingRequests.find(id);
  equal(request.status, 'fulfilled', 'status after the hosted page');
  equal(request.resources.customer.given_name, 'Ana', 'customer');
  equal(request.resources.customer_bank_account.account_holder_name, 'Ana Tau', 'account holder');
  equal(request.resources.customer_bank_account.account_number_ending, '1323', 'account number ending');
  const mandate = await client.mandates.find(request.links.mandate_request_mandate);
  equal(mandate.status, 'pending_submission', 'status of a mandate');
  equal(mandate.scheme, 'becs_nz', 'scheme of a mandate');
  equal(mandate.metadata, { checkout_id: 'CHK1' }, 'metadata of a mandate');
  ok(/^\d{4}-\d\d-\d\d$/.test(mandate.next_possible_charge_date), 'next possible charge date');
  return mandate.id;
}

async function ownPages(creditor) {
  const { id } = await client.billingRequests.create(requestFor('CHK2', creditor));
  await control('POST', `billing_requests/${id}/fulfil`, {});
  const done = await client.billingRequests.find(id);
  equal(done.status, 'fulfilled', 'fulfilled at once');
  ok(/^MD/.test(done.links.mandate_request_mandate), 'mandate of it');
  const other = await client.billingRequests.create(requestFor('CHK3', creditor));
  equal((await client.billingRequests.cancel(other.id)).status, 'cancelled', 'cancelled');
}

async function mandateLives(mandate) {
  await control('POST', `mandates/${mandate}`, { status: 'active' });
  equal((await client.mandates.find(mandate)).status, 'active', 'activated');
  equal((await client.mandates.cancel(mandate, {})).status, 'cancelled', 'mandate cancelled');
  await control('POST', `mandates/${mandate}`, { status: 'failed', reason_code: 'NEGATIVE_ACKNOWLEDGEMENT-AC05' });
  const { events } = await client.events.list({ mandate, action: 'failed' });
  equal(events[0].details.reason_code, 'NEGATIVE_ACKNOWLEDGEMENT-AC05', 'reason code');
  equal(events[0].details.cause, 'invalid_bank_details', 'cause');
}

async function reconcile(id) {
  const walked = [];
  for await (const event of client.events.all({ limit: 3 })) {
    walked.push(event);
  }
  const { events } = await client.events.list({ limit: 500 });
  equal(walked.map((e) => e.id), events.map((e) => e.id), 'the client walks over pages of 3');
  const times = walked.map((e) => Date.parse(e.created_at));
  ok(times.every((t, i) => i === 0 || t <= times[i - 1]), 'the newest event is the first');
  const own = await client.events.list({ billing_request: id, resource_type: 'billing_requests' });
  equal(own.events.map((e) => e.action), ['fulfilled', 'payer_details_confirmed', 'collect_bank_account',
    'collect_customer_details', 'flow_visited', 'flow_created', 'created'], 'events of a billing request');
  const after = await client.events.list({ created_at: { gt: '2099-01-01T00:00:00.000Z' } });
  equal(after.events, [], 'events of the future');
  equal(after.meta.cursors, { before: null, after: null }, 'cursors of an empty page');
  return walked;
}

async function notified(walked) {
  await until(() => walked.every((event) => inbox.some((n) => n.events.some((e) => e.id === event.id))), 'a notification of every event');
  const { body, header, webhookId } = inbox[0];
  ok(/^WB/.test(webhookId), 'id of a notification');
  const known = new Map(walked.map((event) => [event.id, event]));
  equal(inbox.flatMap((n) => n.events).every((e) => assert.deepEqual(e, known.get(e.id)) === undefined), true, 'events as the API gives them');
  equal(webhooks.parse(body, secret, header).length, inbox[0].events.length, 'parse');
  for (const [wrong, what] of [[[body, 'other', header], 'another secret'], [[body + ' ', secret, header], 'another body'],
    [[body, secret, '00'], 'another signature']]) {
    await fails(async () => webhooks.parse(...wrong), 'InvalidSignatureError', what);
  }
}

async function failures(creditor) {
  const create = () => client.billingRequests.create(requestFor('CHK9', creditor));
  await fails(() => clientOf('wrong').creditors.list(), 'AuthenticationError', 'a wrong token', (error) => equal(error.code, 401, 'code'));
  await fails(() => client.billingRequests.find('BRQ1'), 'InvalidApiUsageError', 'an unknown id',
    (error) => equal(error.errors[0].reason, 'resource_not_found', 'reason'));
  await fails(() => client.billingRequests.create({ mandate_request: { scheme: 'becs_nz' } }), 'ValidationFailedError', 'no currency',
    (error) => equal(error.errors[0].request_pointer, '/billing_requests/mandate_request/currency', 'pointer'));
  await fails(() => client.events.list({ limit: 501 }), 'InvalidApiUsageError', 'a large limit');
  for (const [kind, type] of [['rate_limit', 'RateLimitError'], ['error', 'GoCardlessInternalError'],
    ['forbidden', 'PermissionsError'], ['unauthorized', 'AuthenticationError']]) {
    await control('POST', 'faults', { kind, times: 1, method: 'POST', path: '/billing_requests' });
    await fails(create, type, kind, (error) => ok(error.requestId && error.documentationUrl && error.message, `${kind} is whole`));
  }
  await control('POST', 'faults', { kind: 'string_error', times: 1 });
  await fails(create, 'GoCardlessInternalError', 'string error', (error) => equal(error.message, 'bank_authorisation_expired', 'its text'));
  await control('POST', 'faults', { kind: 'torn_body', times: 1 });
  await fails(create, 'MalformedResponseError', 'torn body');
  await control('POST', 'faults', { kind: 'reset', times: 1 });
  await fails(create, 'RequestError', 'reset', (error) => equal(error.code, 'ECONNRESET', 'its code'));
}

const creditor = await readiness();
const id = await create(creditor);
await hostedPage(id);
const mandate = await fulfilled(id);
await ownPages(creditor);
await mandateLives(mandate);
await notified(await reconcile(id));
await failures(creditor);

const statistics = await control('GET', 'statistics');
equal(statistics.mandates_by_metadata['checkout_id=CHK1'], 1, 'mandates of a checkout whose create was repeated');
equal(statistics.billing_requests_by_idempotency_key['CHK1.1'], 1, 'billing requests of its key');
equal(statistics.without_idempotency_key, 0, 'calls without an Idempotency-Key');
server.close();
server.closeAllConnections();
end(40);
