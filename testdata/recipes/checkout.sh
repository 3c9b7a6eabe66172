# Enrol a student: create, wait for the payer, confirm. Needs curl 7.71 or later.
# Takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT (YYYY-MM-DD) from the environment.
set -eu
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# call sends a request, and the same again while the answer is lost, 429 or 5xx.
call() {
  status=$(curl -sS "$BASE/v1/provider-checkouts$1" -o "$answer" -w '%{http_code}' --max-time 30 --retry 4 --retry-all-errors \
    -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' ${2:+-d "$2"})
  [ "$status" -lt 300 ] || { cat "$answer" >&2; exit 1; }
}

# field prints a field of the answer, which is on one line.
field() { sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p' "$answer"; }

provider='{"provider_code": "'$PROVIDER'", "provider_order_id": "'$ORDER'"}'
call '' '{
  "provider": '"$provider"',
  "student": {"first_name": "Aroha", "last_name": "Ngata", "email": "aroha@students.example.ac.nz"},
  "course": {"course_code": "'"$COURSE"'"},
  "plan": {"payment_frequency": "Weekly", "first_payment_date": "'"$FIRST_PAYMENT"'"}
}'
echo "$(field setup_url)" # redirect the payer's browser there
checkout=$(field checkout_id) token=$(field token) opportunity=$(field opportunity_id) dda=$(field dda_id)

while wait=$(field next_poll_after) && [ -n "$wait" ]; do
  sleep "$wait"
  call "/$checkout"
done

# The student accepts the declarations on your page: never send true by default.
call "/$checkout/confirm" '{
  "provider": '"$provider"',
  "checkout": {"checkout_id": "'"$checkout"'", "checkout_token": "'"${token:-confirmed}"'",
    "opportunity_id": "'"$opportunity"'", "dda_id": "'"$dda"'"},
  "payment": {"payment_method": "service_payment_plan", "first_payment_date": "'"$FIRST_PAYMENT"'", "deposit_confirmed": true},
  "declarations": {"payment_plan_accepted": true, "information_confirmed": true, "privacy_consent_accepted": true}
}'
echo "agreement $(field number)" # the same one on a repeat
