package salesforcetest

import (
	"fmt"
	"slices"
	"strings"
)

// FieldType is the type of a field, in the words of a describe.
type FieldType string

// The types of fields.
const (
	TypeID        FieldType = "id"
	TypeString    FieldType = "string"
	TypeTextArea  FieldType = "textarea"
	TypeEmail     FieldType = "email"
	TypePhone     FieldType = "phone"
	TypeURL       FieldType = "url"
	TypePicklist  FieldType = "picklist"
	TypeBoolean   FieldType = "boolean"
	TypeInt       FieldType = "int"
	TypeDouble    FieldType = "double"
	TypeCurrency  FieldType = "currency"
	TypeDate      FieldType = "date"
	TypeDateTime  FieldType = "datetime"
	TypeReference FieldType = "reference"
	TypeBase64    FieldType = "base64"
)

// Field is one field of an object.
type Field struct {
	Name        string // of the API: LastName, Status__c
	Type        FieldType
	Length      int  // most characters of a text
	Precision   int  // digits of a number in all
	Scale       int  // digits of a number after the point
	Required    bool // a record without it is refused
	Unique      bool // two records must not have the same value, whatever the letter case
	ExternalID  bool // records can be upserted by it
	CreateOnly  bool // cannot be changed
	ReadOnly    bool // is Salesforce's to set
	Values      []string
	Restricted  bool     // other values than Values are refused
	ReferenceTo []string // objects; any if empty
}

// isText reports whether the value is a text of limited length.
func (f *Field) isText() bool {
	return slices.Contains([]FieldType{TypeString, TypeTextArea, TypeEmail, TypePhone, TypeURL, TypePicklist}, f.Type)
}

// isNumber reports whether the value is a number.
func (f *Field) isNumber() bool {
	return slices.Contains([]FieldType{TypeInt, TypeDouble, TypeCurrency}, f.Type)
}

// custom reports whether an organisation has added what is called so.
func custom(name string) bool { return strings.HasSuffix(name, "__c") }

// writable reports whether a client may set the field of a new record.
func (f *Field) writable() bool { return !f.ReadOnly && f.Type != TypeID }

// relationship returns the name by which queries reach the record that a reference names: Account for AccountId,
// Contact__r for Contact__c; "" for other fields.
func (f *Field) relationship() string {
	if f.Type != TypeReference {
		return ""
	}
	if name, ok := strings.CutSuffix(f.Name, "__c"); ok {
		return name + "__r"
	}
	return strings.TrimSuffix(f.Name, "Id")
}

// Object is one object of an organisation: a kind of records. Every object also has Id, CreatedDate, LastModifiedDate and
// IsDeleted.
type Object struct {
	Name     string // of the API: Contact, Direct_Debit_Authority__c
	Prefix   string // three characters with which its ids begin
	Fields   []Field
	ReadOnly bool // its records are Salesforce's to make
}

// Schema is the objects of an organisation. DefaultSchema returns one to start from; its methods change it into that of
// an organisation that differs, and panic for what is not there.
type Schema struct{ Objects []Object }

// object returns the object of that name.
func (s *Schema) object(name string) *Object {
	for i := range s.Objects {
		if strings.EqualFold(s.Objects[i].Name, name) {
			return &s.Objects[i]
		}
	}
	panic("salesforcetest: the schema has no object " + name)
}

// Field returns a field to change, by its path: "Contact.FirstName".
func (s *Schema) Field(path string) *Field {
	object, name, _ := strings.Cut(path, ".")
	o := s.object(object)
	for i := range o.Fields {
		if strings.EqualFold(o.Fields[i].Name, name) {
			return &o.Fields[i]
		}
	}
	panic("salesforcetest: the schema has no field " + path)
}

// Add adds fields to an object.
func (s *Schema) Add(object string, fields ...Field) {
	o := s.object(object)
	o.Fields = append(o.Fields, fields...)
}

// Remove takes an object ("Course__c") or a field ("Contact.FirstName") out of the schema. References to an object that
// is gone go with it.
func (s *Schema) Remove(path string) {
	object, field, isField := strings.Cut(path, ".")
	o := s.object(object)
	if isField {
		gone := s.Field(path).Name
		o.Fields = slices.DeleteFunc(o.Fields, func(f Field) bool { return strings.EqualFold(f.Name, field) && f.Name == gone })
		return
	}
	gone := o.Name
	s.Objects = slices.DeleteFunc(s.Objects, func(o Object) bool { return o.Name == gone })
	for i := range s.Objects {
		o := &s.Objects[i]
		o.Fields = slices.DeleteFunc(o.Fields, func(f Field) bool { return slices.Equal(f.ReferenceTo, []string{gone}) })
	}
}

// Rename gives an object ("Course__c") or a field ("Contact.Provider_Checkout_Key__c") another name.
func (s *Schema) Rename(path, name string) {
	object, _, isField := strings.Cut(path, ".")
	if isField {
		s.Field(path).Name = name
		return
	}
	o := s.object(object)
	before := o.Name
	o.Name = name
	for i := range s.Objects {
		for j := range s.Objects[i].Fields {
			to := s.Objects[i].Fields[j].ReferenceTo
			if at := slices.Index(to, before); at >= 0 {
				to[at] = name
			}
		}
	}
}

// table is one object with its records.
type table struct {
	Object
	fields    map[string]*Field // by name in lower case
	relations map[string]*Field // references by the name of the relationship, in lower case
	records   []*record         // oldest first
	indexes   map[string]index  // of fields by which records are looked for
}

// index finds records by the value of a field.
type index map[string][]*record

// systemFields are in every object.
func systemFields() []Field {
	return []Field{
		{Name: "Id", Type: TypeID, Length: 18, ReadOnly: true},
		{Name: "IsDeleted", Type: TypeBoolean, ReadOnly: true},
		{Name: "CreatedDate", Type: TypeDateTime, ReadOnly: true},
		{Name: "LastModifiedDate", Type: TypeDateTime, ReadOnly: true},
	}
}

// newTable makes the table of an object. It panics for an object that no organisation could have.
func newTable(o Object) *table {
	t := &table{Object: o, fields: map[string]*Field{}, relations: map[string]*Field{}, indexes: map[string]index{}}
	if len(o.Prefix) != 3 {
		panic(fmt.Sprintf("salesforcetest: object %s has the prefix %q, which is not three characters", o.Name, o.Prefix))
	}
	t.Fields = append(systemFields(), o.Fields...)
	for i := range t.Fields {
		f := &t.Fields[i]
		lower := strings.ToLower(f.Name)
		if t.fields[lower] != nil || f.Name == "" {
			panic(fmt.Sprintf("salesforcetest: object %s has the field %q twice, or without a name", o.Name, f.Name))
		}
		t.fields[lower] = f
		if name := f.relationship(); name != "" {
			t.relations[strings.ToLower(name)] = f
		}
		if f.Unique || f.ExternalID || f.Type == TypeEmail || f.Type == TypeReference || f.Type == TypeID {
			t.indexes[f.Name] = index{}
		}
	}
	return t
}

// field returns the field of that name in any letter case, or nil.
func (t *table) field(name string) *Field { return t.fields[strings.ToLower(name)] }
