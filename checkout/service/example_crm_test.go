package service_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// unreliableCRM makes the records, and loses its first answer.
type unreliableCRM struct {
	*memory.CRM
	opens int
}

func (c *unreliableCRM) Open(ctx context.Context, e checkout.Enrolment) (checkout.Records, error) {
	c.opens++
	records, err := c.CRM.Open(ctx, e)
	if c.opens == 1 {
		return checkout.Records{}, errors.New("the connection was reset")
	}
	return records, err
}

// A CRM of your own outside of the store: implement ports.CRM, test it with adapters/kit/crmtest, and set Config.CRM. A call
// whose outcome is not known is made again, and leads to the same records. Start Service.Run in every process: it makes
// the calls that a crash cut off. A store of SQLite or PostgreSQL is opened with the CRM's name in its options.
func Example_crm() {
	ctx := context.Background()
	bank := newRemoteBank()
	defer bank.server.Close()
	crm := &unreliableCRM{CRM: memory.NewCRM(catalogue.Sandbox)}
	store := memory.New()
	config := exampleConfig(store, bank)
	config.CRM = crm
	config.Report = func(_ context.Context, f service.Failure) { fmt.Println(f.Operation, "failed, attempt", f.Attempt) }
	checkouts, err := service.New(config)
	check(err)
	check(store.ReplaceProviders(ctx, rimu))

	opened, err := checkouts.Create(ctx, service.Caller{ProviderCode: "RIMU"}, legacyOrder("ENROLMENT-1"))
	check(err)
	made := crm.Enrolments()
	fmt.Println("enrolments in the CRM:", len(made))
	fmt.Println("the answer has the CRM's ids:", opened.Checkout.Records == made[0].Records)
	// Output:
	// call CRM failed, attempt 1
	// enrolments in the CRM: 1
	// the answer has the CRM's ids: true
}
