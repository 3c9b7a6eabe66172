package salesforce

import (
	"encoding/xml"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/salesforce/salesforcetest"
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
		salesforcetest.TypeDate: "Date", salesforcetest.TypeDateTime: "DateTime", salesforcetest.TypeReference: "Lookup"}
	w := fieldXML{FullName: f.Name, Type: types[f.Type], Precision: f.Precision, Scale: f.Scale, Required: f.Required, Unique: f.Unique,
		ExternalID: f.ExternalID, To: f.ReferenceTo, Restricted: f.Restricted, Values: f.Values}
	if w.Type == "Text" || w.Type == "LongTextArea" {
		w.Length = f.Length
	}
	return w
}

func TestMetadataAreTheFieldsOfTheDefaultMapping(t *testing.T) {
	schema := salesforcetest.DefaultSchema()
	want := map[string]bool{}
	for _, o := range objects() {
		for _, f := range o.fields {
			simulated := inMetadata(schema.Field(o.api + "." + f.api)) // panics where the simulator has no such field
			if !f.ours {
				continue
			}
			name := "objects/" + o.api + "/fields/" + f.api + ".field-meta.xml"
			want[name] = true
			var got fieldXML
			readXML(t, name, &got)
			if !equal(got, simulated) {
				t.Errorf("%s declares %+v, the simulator has %+v", name, got, simulated)
			}
		}
	}
	err := fs.WalkDir(os.DirFS(deployed), "objects", func(name string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".field-meta.xml") && !want[name] {
			t.Errorf("%s is never written", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func equal(a, b fieldXML) bool {
	lists := slices.Equal(a.To, b.To) && slices.Equal(a.Values, b.Values)
	a.To, b.To, a.Values, b.Values = nil, nil, nil, nil
	return lists && a.FullName == b.FullName && a.Type == b.Type && a.Length == b.Length && a.Precision == b.Precision &&
		a.Scale == b.Scale && a.Required == b.Required && a.Unique == b.Unique && a.ExternalID == b.ExternalID && a.Restricted == b.Restricted
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
func TestPermissionSetGivesWhatIsWritten(t *testing.T) {
	var set permissionsXML
	readXML(t, "permissionsets/Provider_Checkout.permissionset-meta.xml", &set)
	given := map[string]bool{}
	for _, p := range set.Fields {
		given[p.Field] = p.Editable && p.Readable
	}
	schema := salesforcetest.DefaultSchema()
	for _, o := range objects() {
		for _, f := range o.fields {
			if required := schema.Field(o.api + "." + f.api).Required; f.ours && given[o.api+"."+f.api] == required {
				t.Errorf("permission to write %s.%s: %v, and the field is required: %v", o.api, f.api, !required, required)
			}
		}
	}
	for _, p := range set.Objects {
		if p.Delete || !p.All {
			t.Errorf("%s: the user may delete: %v, and sees all records: %v", p.Object, p.Delete, p.All)
		}
		given[p.Object] = p.Create && p.Edit
	}
	for _, name := range []string{"Contact", "Opportunity", "Direct_Debit_Authority__c", "Payment_Plan_Agreement__c"} {
		if !given[name] {
			t.Errorf("the user may not write records of %s", name)
		}
	}
}
