package salesforce

import (
	"encoding/xml"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// The metadata that an organisation deploys, the names that the mapping has by default, and the organisation that the
// simulator plays are the same.

const deployed = "metadata/force-app/main/default/"

type fieldXML struct {
	FullName   string   `xml:"fullName"`
	Type       string   `xml:"type"`
	Length     int      `xml:"length"`
	Precision  int      `xml:"precision"`
	Scale      int      `xml:"scale"`
	Required   bool     `xml:"required"`
	Unique     bool     `xml:"unique"`
	ExternalID bool     `xml:"externalId"`
	To         []string `xml:"referenceTo"`
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
	data, err := os.ReadFile(deployed + name)
	if err == nil {
		err = xml.Unmarshal(data, into)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// inMetadata returns a field of the simulator as the metadata declare it.
func inMetadata(f *salesforcetest.Field) fieldXML {
	types := map[salesforcetest.FieldType]string{salesforcetest.TypeString: "Text", salesforcetest.TypeTextArea: "LongTextArea",
		salesforcetest.TypePicklist: "Picklist", salesforcetest.TypeCurrency: "Currency", salesforcetest.TypeDouble: "Number",
		salesforcetest.TypeDate: "Date", salesforcetest.TypeDateTime: "DateTime", salesforcetest.TypeReference: "Lookup",
		salesforcetest.TypeBoolean: "Checkbox", salesforcetest.TypeURL: "Url", salesforcetest.TypeEmail: "Email"}
	w := fieldXML{FullName: f.Name, Type: types[f.Type], Precision: f.Precision, Scale: f.Scale, Required: f.Required, Unique: f.Unique,
		ExternalID: f.ExternalID, To: f.ReferenceTo, Restricted: f.Restricted, Values: f.Values}
	if w.Type == "Text" || w.Type == "LongTextArea" {
		w.Length = f.Length
	}
	return w
}

// custom reports whether a field is not Salesforce's own.
func custom(f field) bool { return strings.HasSuffix(f.api, "__c") }

func TestMetadataAreTheFieldsOfTheDefaultMapping(t *testing.T) {
	schema := salesforcetest.DefaultSchema()
	want := map[string]bool{}
	for _, o := range objects() {
		for _, f := range o.fields {
			simulated := inMetadata(schema.Field(o.api + "." + f.api)) // panics where the simulator has no such field
			if !custom(f) {
				continue
			}
			name := "objects/" + o.api + "/fields/" + f.api + ".field-meta.xml"
			want[name] = true
			var got fieldXML
			readXML(t, name, &got)
			if !reflect.DeepEqual(got, simulated) {
				t.Errorf("%s declares %+v, the simulator has %+v", name, got, simulated)
			}
		}
	}
	err := fs.WalkDir(os.DirFS(deployed), "objects", func(name string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".field-meta.xml") && !want[name] {
			t.Errorf("%s is neither written nor read", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCustomObjectsAreDeclared(t *testing.T) {
	for _, o := range objects() {
		_, err := os.Stat(path.Join(deployed, "objects", o.api, o.api+".object-meta.xml"))
		if custom := strings.HasSuffix(o.api, "__c"); custom != (err == nil) {
			t.Errorf("object %s is custom: %v; its declaration: %v", o.api, custom, err)
		}
	}
}

// A permission set cannot name a field that every record must have: it is everybody's to write.
func TestPermissionSetGivesWhatIsWrittenAndRead(t *testing.T) {
	var set permissionsXML
	readXML(t, "permissionsets/Provider_Checkout.permissionset-meta.xml", &set)
	type permission struct{ read, write bool }
	given := map[string]permission{}
	for _, p := range set.Fields {
		given[p.Field] = permission{p.Readable, p.Editable}
	}
	schema := salesforcetest.DefaultSchema()
	for _, o := range objects() {
		for _, f := range o.fields {
			required := schema.Field(o.api + "." + f.api).Required
			want := permission{read: !required, write: !required && !o.readOnly && !f.readOnly}
			if got := given[o.api+"."+f.api]; custom(f) && got != want {
				t.Errorf("permission of %s.%s: %+v, want %+v", o.api, f.api, got, want)
			}
		}
	}
	for _, p := range set.Objects {
		if p.Delete || !p.All {
			t.Errorf("%s: the user may delete: %v, and sees all records: %v", p.Object, p.Delete, p.All)
		}
		if p.Create != p.Edit {
			t.Errorf("%s: the user may create: %v, and edit: %v", p.Object, p.Create, p.Edit)
		}
		given[p.Object] = permission{p.Read, p.Edit}
	}
	for _, o := range objects() {
		want := permission{read: true, write: !o.readOnly}
		if o.api == "OpportunityContactRole" || o.api == "ContentVersion" {
			want = permission{} // who may write the opportunity and the agreement may write these
		}
		if got := given[o.api]; got != want {
			t.Errorf("permission of the records of %s: %+v, want %+v", o.api, got, want)
		}
	}
}

// No user sees a field that was deployed until a permission set grants it.
func TestPermissionSetOfThePeopleWhoConfigure(t *testing.T) {
	var set permissionsXML
	readXML(t, "permissionsets/Provider_Checkout_Configuration.permissionset-meta.xml", &set)
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
	for _, o := range configurationObjects() {
		want = append(want, o.api)
		for _, f := range o.fields {
			if custom(f) && !schema.Field(o.api+"."+f.api).Required {
				want = append(want, o.api+"."+f.api)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("they may write %q, want %q", got, want)
	}
}
