package salesforce

import (
	"encoding/xml"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// The metadata that an organisation deploys, the fields that are written and read, and the organisation that the double plays are the same.

type packageXML struct {
	Types []struct {
		Members []string `xml:"members"`
		Name    string   `xml:"name"`
	} `xml:"types"`
}

type objectXML struct {
	Label  string     `xml:"label"`
	Fields []fieldXML `xml:"fields"`
}

type fieldXML struct {
	FullName   string   `xml:"fullName"`
	Type       string   `xml:"type"`
	Length     int      `xml:"length"`
	Scale      int      `xml:"scale"`
	Required   bool     `xml:"required"`
	Unique     bool     `xml:"unique"`
	ExternalID bool     `xml:"externalId"`
	To         string   `xml:"referenceTo"`
	Restricted bool     `xml:"valueSet>restricted"`
	Values     []string `xml:"valueSet>valueSetDefinition>value>fullName"`
}

type permissionsXML struct {
	Fields []struct {
		Field    string `xml:"field"`
		Editable bool   `xml:"editable"`
		Readable bool   `xml:"readable"`
	} `xml:"fieldPermissions"`
	Objects []struct {
		Object string `xml:"object"`
		Read   bool   `xml:"allowRead"`
		Create bool   `xml:"allowCreate"`
		Edit   bool   `xml:"allowEdit"`
		All    bool   `xml:"viewAllRecords"`
		Delete bool   `xml:"allowDelete"`
	} `xml:"objectPermissions"`
}

func readXML(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("metadata/" + name)
	if err == nil {
		err = xml.Unmarshal(data, into)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// inMetadata returns a field of the double as the metadata declare it.
func inMetadata(f *salesforcetest.Field) fieldXML {
	types := map[string]string{"string": "Text", "textarea": "LongTextArea", "picklist": "Picklist", "currency": "Currency",
		"double": "Number",
		"date":   "Date", "datetime": "DateTime", "reference": "Lookup", "boolean": "Checkbox", "url": "Url", "email": "Email"}
	w := fieldXML{FullName: f.Name, Type: types[f.Type], Scale: f.Scale, Required: f.Required, Unique: f.Unique, ExternalID: f.ExternalID,
		To: f.To, Restricted: f.Restricted, Values: f.Values}
	if w.Type == "Text" || w.Type == "LongTextArea" {
		w.Length = f.Length
	}
	return w
}

// custom reports whether an object or a field is not Salesforce's own.
func custom(name string) bool { return strings.HasSuffix(name, "__c") }

func TestMetadataAreTheFieldsThatAreWrittenAndRead(t *testing.T) {
	schema := salesforcetest.DefaultSchema()
	want := map[string][]string{"PermissionSet": {"Provider_Checkout", "Provider_Checkout_Configuration"}}
	for _, o := range objects {
		var played []fieldXML
		for _, f := range o.fields {
			field := inMetadata(schema.Field(o.name + "." + f.name)) // panics where the double has no such field
			if custom(f.name) {
				played = append(played, field)
				if !custom(o.name) {
					want["CustomField"] = append(want["CustomField"], o.name+"."+f.name)
				}
			}
		}
		if len(played) == 0 {
			continue
		}
		var got objectXML
		readXML(t, "objects/"+o.name+".object", &got)
		if custom(o.name) {
			want["CustomObject"] = append(want["CustomObject"], o.name)
		}
		if custom(o.name) != (got.Label != "") {
			t.Errorf("object %s is custom: %v; its declaration has the label %q", o.name, custom(o.name), got.Label)
		}
		byName := func(a, b fieldXML) int { return strings.Compare(a.FullName, b.FullName) }
		slices.SortFunc(played, byName)
		slices.SortFunc(got.Fields, byName)
		if !reflect.DeepEqual(got.Fields, played) {
			t.Errorf("%s declares %+v, the double has %+v", o.name, got.Fields, played)
		}
	}
	var all packageXML
	readXML(t, "package.xml", &all)
	got := map[string][]string{}
	for _, of := range all.Types {
		got[of.Name] = of.Members
	}
	for name := range want {
		slices.Sort(want[name])
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the package has %v, want %v", got, want)
	}
}

// A permission set cannot name a field that every record must have: it is everybody's to write.
func TestPermissionSetGivesWhatIsWrittenAndRead(t *testing.T) {
	var set permissionsXML
	readXML(t, "permissionsets/Provider_Checkout.permissionset", &set)
	type permission struct{ read, write bool }
	given := map[string]permission{}
	for _, p := range set.Fields {
		given[p.Field] = permission{p.Readable, p.Editable}
	}
	for _, p := range set.Objects {
		if p.Delete || !p.All || p.Create != p.Edit {
			t.Errorf("%+v, want one who sees all records, deletes none, and creates what he edits", p)
		}
		given[p.Object] = permission{p.Read, p.Edit}
	}
	schema := salesforcetest.DefaultSchema()
	for _, o := range objects {
		want := permission{read: true, write: !o.readOnly}
		if o.name == "OpportunityContactRole" || o.name == "ContentVersion" {
			want = permission{} // who may write the opportunity and the agreement may write these
		}
		if got := given[o.name]; got != want {
			t.Errorf("permission of the records of %s: %+v, want %+v", o.name, got, want)
		}
		for _, f := range o.fields {
			name := o.name + "." + f.name
			required := schema.Field(name).Required
			want := permission{read: !required, write: !required && !o.readOnly}
			if got := given[name]; custom(f.name) && got != want {
				t.Errorf("permission of %s: %+v, want %+v", name, got, want)
			}
		}
	}
}

// No user sees a field that was deployed until a permission set grants it.
func TestPermissionSetOfThePeopleWhoConfigure(t *testing.T) {
	var set permissionsXML
	readXML(t, "permissionsets/Provider_Checkout_Configuration.permissionset", &set)
	var got, want []string
	for _, p := range set.Fields {
		if p.Editable && p.Readable {
			got = append(got, p.Field)
		}
	}
	for _, p := range set.Objects {
		if p.Read && p.Create && p.Edit && p.Delete && p.All {
			got = append(got, p.Object)
		}
	}
	schema := salesforcetest.DefaultSchema()
	for _, o := range configuration {
		want = append(want, o.name)
		for _, f := range o.fields {
			if name := o.name + "." + f.name; custom(f.name) && !schema.Field(name).Required {
				want = append(want, name)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("they may write %q, want %q", got, want)
	}
}
