package settingsfile_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
)

func kinds() map[string]settingsfile.Kind {
	return map[string]settingsfile.Kind{
		"base_url": settingsfile.Text, "rate_limit": settingsfile.Number, "allow": settingsfile.Switch, "proxies": settingsfile.List,
		"secret": settingsfile.Secret, "store": settingsfile.Open,
	}
}

func TestSettingsAreRead(t *testing.T) {
	got, err := settingsfile.Parse([]byte(`{"base_url": "https://pay.example", "rate_limit": 7.5, "allow": true,
		"proxies": ["10.0.0.0/8", "::1"], "secret": "env:CHECKOUT_SECRET", "store": "file:/etc/checkout/store"}`), kinds())
	want := map[string]settingsfile.Setting{
		"base_url": {Text: "https://pay.example"}, "rate_limit": {Text: "7.5"}, "allow": {Text: "true"}, "proxies": {Text: "10.0.0.0/8,::1"},
		"secret": {Variable: "CHECKOUT_SECRET"}, "store": {File: "/etc/checkout/store"},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("Parse = %+v, %v; want %+v", got, err, want)
	}
	for _, store := range []string{"sqlite:checkout.db", "postgres://checkout@db:5432/checkouts?sslmode=verify-full"} {
		got, err := settingsfile.Parse([]byte(`{"store": "`+store+`"}`), kinds())
		if err != nil || got["store"].Text != store {
			t.Errorf("store %s is read as %+v, %v", store, got, err)
		}
	}
}

func TestFaultsNameTheSettingAndNoValue(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"no JSON", `{"secret": hunter2}`, "secret"},
		{"not an object", `["hunter2"]`, "the document must be an object"},
		{"a second value", `{} {}`, "the document"},
		{"an unknown setting", `{"pasword": "hunter2"}`, "pasword is not a setting"},
		{"another letter case", `{"Secret": "env:X"}`, "Secret is not a setting"},
		{"a setting given twice", `{"base_url": "https://a.example", "base_url": "https://hunter2.example"}`, "base_url is given twice"},
		{"a literal secret", `{"secret": "hunter2"}`, "secret must be env:NAME or file:PATH"},
		{"a secret that is a number", `{"secret": 5}`, "secret must be env:NAME"},
		{"a reference without a name", `{"secret": "env:"}`, "secret must be env:NAME"},
		{"a reference of the store without a name", `{"store": "file:"}`, "store must name"},
		{"a store with a password", `{"store": "postgres://u:hunter2@db/x"}`, "store holds a password"},
		{"a store with a password that has a slash", `{"store": "postgres://u:hunter2/@db/x"}`, "store holds a password"},
		{"a store with a password in its query", `{"store": "postgres://db/x?password=hunter2"}`, "store holds a password"},
		{"a URL with a password", `{"base_url": "https://u:hunter2@pay.example"}`, "base_url holds a password"},
		{"null", `{"base_url": null}`, "base_url must be a text"},
		{"a number as a text", `{"rate_limit": "100"}`, "rate_limit must be a number"},
		{"a switch as a text", `{"allow": "true"}`, "allow must be true or false"},
		{"a text for a list", `{"proxies": "10.0.0.0/8"}`, "proxies must be a list"},
		{"an item that is no text", `{"proxies": [1]}`, "proxies must be a list"},
		{"an object in a list", `{"proxies": [{}]}`, "proxies"},
		{"a large file", `{"base_url": "` + strings.Repeat("x", 64<<10) + `"}`, "larger than 64 KB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := settingsfile.Parse([]byte(tt.file), kinds())
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Parse = %+v, %v; want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestEveryFaultIsNamed(t *testing.T) {
	_, err := settingsfile.Parse([]byte(`{"secret": "x", "alow": true, "rate_limit": true}`), kinds())
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("Parse = %v, want three faults, a line each", err)
	}
}
