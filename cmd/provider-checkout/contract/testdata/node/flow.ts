// Enrol a student through a client whose types come from the service's own OpenAPI document: create, replay, set up,
// poll, confirm and repeat. What the document does not say does not compile.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { env: Record<string, string | undefined> };

const { BASE = "", KEY = "", PROVIDER = "", COURSE = "" } = process.env;

let held = 0;

function hold(what: string, holds: boolean): asserts holds {
  if (!holds) throw new Error(`this does not hold: ${what}`);
  held++;
}

const client = createClient<paths>({ baseUrl: BASE, headers: { Authorization: `Bearer ${KEY}` } });

// The words are known, and others may come: a client compiles with the former and takes the latter.
const good: components["schemas"]["MandateStatus"][] = ["pending_submission", "submitted", "active"];

// The two kinds of create are two types, and a mixture is neither.
type Legacy = components["schemas"]["LegacyCreateRequest"];
type Catalogue = components["schemas"]["CatalogueCreateRequest"];
// @ts-expect-error a course of a catalogue has a code
const nameless: Catalogue["course"] = { course_name: "Carpentry" };
// @ts-expect-error without a catalogue the plan has its figures
const figureless: Legacy["plan"] = { payment_frequency: "Weekly", first_payment_date: "2027-02-01" };
void [nameless, figureless];

const create: Catalogue = {
  provider: { provider_code: PROVIDER, provider_order_id: "TYPED-1" },
  student: { first_name: "Aroha", last_name: "Ngata", email: "aroha@students.example.ac.nz" },
  course: { course_code: COURSE },
  plan: { payment_frequency: "Weekly", first_payment_date: "2027-02-01" },
};

// setUp plays the payer: it sends each form that the pages show.
async function setUp(address: string): Promise<void> {
  const typed: Record<string, string> = {
    account_holder_name: "Aroha Ngata", account_number: "01-0902-0068389-00", authority_confirmed: "yes",
  };
  let page = await fetch(address);
  for (let n = 0; n < 5; n++) {
    const html = await page.text();
    const form = /<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/s.exec(html);
    if (!form) return;
    const fields = new URLSearchParams();
    for (const [input] of form[2]!.matchAll(/<input[^>]*>/g)) {
      const name = / name="([^"]*)"/.exec(input)?.[1];
      if (name) fields.set(name, typed[name] ?? / value="([^"]*)"/.exec(input)?.[1] ?? "");
    }
    page = await fetch(new URL(form[1]!.replaceAll("&amp;", "&"), page.url), { method: "POST", body: fields });
    hold(`the form of ${page.url} is taken`, page.ok);
  }
  throw new Error("the pages have no end");
}

export async function flow(): Promise<number> {
  const ready = await client.GET("/v1/environment");
  hold("the environment is ready", ready.data?.readiness.ready_for_api_calls === true);

  const created = await client.POST("/v1/provider-checkouts", { body: create });
  hold("the create is answered 201", created.response.status === 201 && created.data !== undefined);
  const { checkout, direct_debit, records, plan } = created.data;
  hold("the catalogue resolves the plan", plan.number_of_instalments === 52);
  hold("a new checkout has a page", direct_debit.setup_url !== undefined && direct_debit.token !== undefined);

  const replay = await client.POST("/v1/provider-checkouts", { body: create });
  hold("the replay is the same checkout", replay.response.status === 200 && replay.data !== undefined);
  hold("the replay says so", replay.data.idempotent_replay && replay.data.checkout.checkout_id === checkout.checkout_id);

  const params = { path: { checkoutId: checkout.checkout_id } };
  const confirm = {
    params,
    body: {
      provider: create.provider,
      checkout: {
        checkout_id: checkout.checkout_id, checkout_token: direct_debit.token,
        opportunity_id: records.opportunity_id, dda_id: direct_debit.dda_id,
      },
      payment: { payment_method: "service_payment_plan" as const, first_payment_date: "2027-02-01", deposit_confirmed: true as const },
      declarations: {
        payment_plan_accepted: true as const, information_confirmed: true as const, privacy_consent_accepted: true as const,
      },
    },
  };
  const early = await client.POST("/v1/provider-checkouts/{checkoutId}/confirm", confirm);
  hold("an early confirm is refused", early.error?.error.code === "DIRECT_DEBIT_SETUP_INCOMPLETE");

  await setUp(direct_debit.setup_url);
  const polled = await client.GET("/v1/provider-checkouts/{checkoutId}", { params });
  hold("the setup is complete", polled.data?.direct_debit.setup_complete === true);
  const { mandate_status } = polled.data.direct_debit;
  hold("the mandate is good", good.some((word) => word === mandate_status));

  const confirmed = await client.POST("/v1/provider-checkouts/{checkoutId}/confirm", confirm);
  hold("the first confirm concludes an agreement", confirmed.data?.already_confirmed === false);
  const repeated = await client.POST("/v1/provider-checkouts/{checkoutId}/confirm", confirm);
  hold("a repeat says so", repeated.data?.already_confirmed === true);
  hold("a repeat has the same agreement", repeated.data.agreement.number === confirmed.data.agreement.number);
  return held;
}
