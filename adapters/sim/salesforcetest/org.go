package salesforcetest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// org is everything that the organisation holds. Its methods are called with the simulator's lock held.
type org struct {
	tables  map[string]*table  // by name in lower case
	order   []*table           // as in the schema
	records map[string]*record // by id, deleted ones too
	made    map[string]int     // records, by the prefix of their ids
	journal []Entry
	cursors cursors
	usage   usage
	id      string // of the organisation
	user    string // of the user that the API runs as
}

// record is one record.
type record struct {
	table   *table
	id      string
	values  map[string]string // by name of the field; what is not there is empty
	deleted bool
}

// key returns the value by which its client knows a record: the first that is unique.
func (r *record) key() string {
	for i := range r.table.Fields {
		if f := &r.table.Fields[i]; (f.ExternalID || f.Unique) && r.values[f.Name] != "" {
			return r.values[f.Name]
		}
	}
	return ""
}

// firstRecord is the number in the ids of the first records.
const firstRecord = 1_000_000

func newOrg(o Options, now time.Time) *org {
	g := &org{tables: map[string]*table{}, records: map[string]*record{}, made: map[string]int{},
		cursors: cursors{o.QueryPage, map[string][]any{}}, usage: usage{limit: o.DailyLimit}}
	prefixes := map[string]string{}
	for _, object := range o.Schema.Objects {
		t := newTable(object)
		lower := strings.ToLower(t.Name)
		if other, taken := prefixes[t.Prefix]; taken || g.tables[lower] != nil {
			panic(fmt.Sprintf("salesforcetest: object %s is there twice, or has the prefix of %s", t.Name, other))
		}
		prefixes[t.Prefix] = t.Name
		g.tables[lower] = t
		g.order = append(g.order, t)
	}
	g.user, g.id = newID("005", firstRecord), newID("00D", firstRecord)
	if t := g.table("Organization"); t != nil {
		at := now.Format(storedTime)
		g.insert(&record{table: t, id: g.id, values: map[string]string{"Name": "Simulated organisation", "IsSandbox": fmt.Sprint(o.Sandbox),
			"OrganizationType": "Enterprise Edition", "CreatedDate": at, "LastModifiedDate": at}})
	}
	return g
}

// table returns the object of that name in any letter case, or nil.
func (g *org) table(name string) *table { return g.tables[strings.ToLower(name)] }

// insert adds a record that has been checked.
func (g *org) insert(r *record) {
	r.values["Id"] = r.id
	g.records[r.id] = r
	r.table.records = append(r.table.records, r)
	r.index(r.values)
}

// index adds the record to the indexes of some values of it.
func (r *record) index(values map[string]string) {
	for name, index := range r.table.indexes {
		if value := r.table.field(name).indexed(values[name]); value != "" {
			index[value] = append(index[value], r)
		}
	}
}

// unindex takes the record out of the indexes of some values of it.
func (r *record) unindex(values map[string]string) {
	for name, index := range r.table.indexes {
		value := r.table.field(name).indexed(values[name])
		if rest := slices.DeleteFunc(index[value], func(other *record) bool { return other == r }); len(rest) > 0 {
			index[value] = rest
		} else {
			delete(index, value)
		}
	}
}

// set replaces the values of a record.
func (r *record) set(values map[string]string) {
	r.unindex(r.values)
	r.values = values
	r.index(values)
}

// drop takes a record out of its table.
func (r *record) drop() {
	r.unindex(r.values)
	at := slices.Index(r.table.records, r)
	r.table.records = slices.Delete(r.table.records, at, at+1)
}

// with returns the records with a value in an indexed field. They stay the same when the records are changed.
func (t *table) with(field, value string) []*record {
	return slices.Clone(t.indexes[field][t.field(field).indexed(value)])
}

// url returns the address of a record, below the path of a version of the API.
func (r *record) url(version string) string {
	return version + "/sobjects/" + r.table.Name + "/" + r.id
}
