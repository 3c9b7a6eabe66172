"""Ask a service what it is, and whether it is ready. Takes BASE from the environment; needs no key."""

import os

from provider_checkout import Client

client = Client(os.environ["BASE"], "")

service = client.get_service()
print(service["environment"], service["version"])

readiness = client.get_environment()["readiness"]
print("ready:", str(readiness["ready_for_api_calls"]).lower())
