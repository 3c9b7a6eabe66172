// Runs the official GoCardless client, unmodified, against the simulator at GOCARDLESS_URL, whose last notification INBOX_URL gives.
// It ends with 1 at the first thing that the client does not get as it should.
import { GoCardlessClient } from 'gocardless-nodejs';
import { Environments } from 'gocardless-nodejs/constants';
import * as webhooks from 'gocardless-nodejs/webhooks';
import { end, equal, fails, ok } from './assertions.mjs';

const url = process.env.GOCARDLESS_URL;

function clientOf(token) {
  const client = new GoCardlessClient(token, Environments.Sandbox);
  client._api._baseUrl = url;
  return client;
}

const client = clientOf('token');

async function readiness() {
  const list = await client.creditors.list();
  equal(list.creditors.length, 1, 'creditors');
  const scheme = list.creditors[0].scheme_identifiers.find((s) => s.scheme === 'becs_nz');
  equal([scheme.status, scheme.minimum_advance_notice], ['active', 10], 'scheme identifier');
  ok(scheme.reference, 'authorisation code');
  return list.creditors[0].id;
}

const requestFor = (checkout, creditor) => ({
  mandate_request: { scheme: 'becs_nz', currency: 'NZD', description: 'Carpentry', metadata: { checkout_id: checkout } },
  metadata: { checkout_id: checkout },
  links: { creditor },
});

async function create(creditor) {
  const created = await client.billingRequests.create(requestFor('CHK1', creditor), 'CHK1.1');
  ok(/^BRQ/.test(created.id), 'id of a billing request');
  equal([created.status, created.mandate_request.scheme, created.links.creditor], ['pending', 'becs_nz', creditor], 'new billing request');
  equal(created.metadata, { checkout_id: 'CHK1' }, 'metadata');
  equal(created.__response__.statusCode, 201, 'status code of a create');
  const replayed = await client.billingRequests.create(requestFor('CHK1', creditor), 'CHK1.1');
  equal([replayed.id, replayed.__response__.statusCode], [created.id, 200], 'the client follows a 409 to the resource');
  const other = await client.billingRequests.create(requestFor('CHK2', creditor));
  equal((await client.billingRequests.cancel(other.id)).status, 'cancelled', 'cancelled');
  return created.id;
}

async function hostedPage(id) {
  const flow = await client.billingRequestFlows.create({
    redirect_uri: 'https://ours.example/back', exit_uri: 'https://ours.example/exit', lock_currency: true,
    show_redirect_buttons: true, language: 'en',
    prefilled_customer: { given_name: 'Ana', family_name: 'Tau', email: 'ana@example.nz' },
    links: { billing_request: id },
  });
  ok(/^BRF/.test(flow.id) && flow.authorisation_url.startsWith(url), 'flow');
  equal(Date.parse(flow.expires_at) - Date.parse(flow.created_at), 7 * 24 * 3600 * 1000, 'a flow lives for 7 days');
  equal((await fetch(flow.authorisation_url)).status, 200, 'the hosted page');
  const done = await fetch(flow.authorisation_url, { method: 'POST', redirect: 'manual',
    body: new URLSearchParams({ account_holder_name: 'Ana Tau', account_number: '12-3140-0171323-50' }) });
  equal(done.headers.get('location'), 'https://ours.example/back', 'the payer is led back');
}

async function mandate(id) {
  const request = await client.billingRequests.find(id);
  equal([request.status, request.resources.customer.given_name], ['fulfilled', 'Ana'], 'after the hosted page');
  equal(request.resources.customer_bank_account.account_number_ending, '1323', 'account number ending');
  const made = await client.mandates.find(request.links.mandate_request_mandate);
  equal([made.status, made.scheme], ['pending_submission', 'becs_nz'], 'mandate');
  ok(/^\d{4}-\d\d-\d\d$/.test(made.next_possible_charge_date), 'next possible charge date');
  equal((await client.mandates.cancel(made.id, {})).status, 'cancelled', 'mandate cancelled');
}

async function reconcile(id) {
  const walked = [];
  for await (const event of client.events.all({ limit: 3 })) {
    walked.push(event.id);
  }
  const { events } = await client.events.list({ limit: 500 });
  equal(walked, events.map((e) => e.id), 'the client walks over pages of 3');
  equal(events[0].action, 'cancelled', 'the newest event is the first');
  const own = await client.events.list({ billing_request: id, resource_type: 'billing_requests' });
  equal(own.events.map((e) => e.action), ['fulfilled', 'payer_details_confirmed', 'collect_bank_account',
    'collect_customer_details', 'flow_visited', 'flow_created', 'created'], 'events of a billing request');
  const after = await client.events.list({ created_at: { gt: '2099-01-01T00:00:00.000Z' } });
  equal([after.events, after.meta.cursors], [[], { before: null, after: null }], 'events of the future');
  return events[0];
}

async function notified(last) {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await fetch(process.env.INBOX_URL);
    const [body, signature] = [await answer.text(), answer.headers.get('webhook-signature')];
    if (body.includes(last.id)) {
      equal(webhooks.parse(body, 'secret', signature).find((e) => e.id === last.id), last, 'a notification has the event');
      await fails(async () => webhooks.parse(body + ' ', 'secret', signature), 'InvalidSignatureError', 'another body');
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  ok(false, 'a notification of the last event came within 10 s');
}

async function failures() {
  await fails(() => clientOf('wrong').creditors.list(), 'AuthenticationError', 'a wrong token');
  await fails(() => client.billingRequests.find('BRQ1'), 'InvalidApiUsageError', 'an unknown id',
    (error) => equal(error.errors[0].reason, 'resource_not_found', 'reason'));
  await fails(() => client.billingRequests.create({ mandate_request: { scheme: 'becs_nz' } }), 'ValidationFailedError', 'no currency',
    (error) => equal(error.errors[0].request_pointer, '/billing_requests/mandate_request/currency', 'pointer'));
  for (const [kind, type] of [['rate_limit', 'RateLimitError'], ['error', 'GoCardlessInternalError'], ['forbidden', 'PermissionsError']]) {
    await fails(() => client.mandates.find(kind), type, kind, (error) => ok(error.requestId && error.message, `${kind} is whole`));
  }
  await fails(() => client.mandates.find('string_error'), 'GoCardlessInternalError', 'string error');
}

const id = await create(await readiness());
await hostedPage(id);
await mandate(id);
await notified(await reconcile(id));
await failures();
end(30);
