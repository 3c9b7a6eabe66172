package salesforcetest

import (
	"net/http"
	"strings"
)

// resources lists what there is below a version.
func resources(_ *org, c *call) (answer, *apiError) {
	list := map[string]string{}
	for _, name := range []string{"sobjects", "query", "composite", "limits"} {
		list[name] = c.version() + "/" + name
	}
	return answer{status: http.StatusOK, body: list}, nil
}

func limits(g *org, _ *call) (answer, *apiError) {
	return answer{status: http.StatusOK, body: map[string]limitWire{
		"DailyApiRequests": {Max: g.usage.limit, Remaining: max(0, g.usage.limit-g.usage.spent)}}}, nil
}

func describeAll(g *org, c *call) (answer, *apiError) {
	all := globalDescribeWire{Encoding: "UTF-8", MaxBatchSize: maxCollection}
	for _, t := range g.order {
		all.SObjects = append(all.SObjects, t.toWire(c.version()))
	}
	return answer{status: http.StatusOK, body: all}, nil
}

func basicInfo(g *org, c *call) (answer, *apiError) {
	t, err := g.tableOf(c)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: basicInfoWire{t.toWire(c.version()), []struct{}{}}}, nil
}

func describe(g *org, c *call) (answer, *apiError) {
	t, err := g.tableOf(c)
	if err != nil {
		return answer{}, err
	}
	w := t.toWire(c.version())
	for i := range t.Fields {
		w.Fields = append(w.Fields, t.Fields[i].toWire())
	}
	return answer{status: http.StatusOK, body: w}, nil
}

// toWire describes an object without its fields.
func (t *table) toWire(version string) objectDescribeWire {
	label := strings.ReplaceAll(strings.TrimSuffix(t.Name, "__c"), "_", " ")
	own := version + "/sobjects/" + t.Name
	writable := !t.ReadOnly
	return objectDescribeWire{Name: t.Name, Label: label, LabelPlural: label + "s", KeyPrefix: t.Prefix, Custom: custom(t.Name),
		Createable: writable && t.Name != objectContentDocument, Updateable: writable, Deletable: writable, Queryable: true,
		Retrieveable: true, ChildRelationships: []struct{}{}, RecordTypeInfos: []struct{}{},
		URLs: map[string]string{"sobject": own, "describe": own + "/describe", "rowTemplate": own + "/{ID}"}}
}

// toWire describes a field.
func (f *Field) toWire() fieldDescribeWire {
	w := fieldDescribeWire{Name: f.Name, Label: f.label(), Type: f.Type, Length: f.Length, Precision: f.Precision, Scale: f.Scale,
		Nillable: !f.Required && f.Type != TypeID && f.Type != TypeBoolean, Createable: f.writable(),
		Updateable: f.writable() && !f.CreateOnly, Unique: f.Unique, ExternalID: f.ExternalID, IDLookup: f.ExternalID || f.Type == TypeID,
		AutoNumber: f.AutoNumber != "", Custom: custom(f.Name), DefaultedOnCreate: f.Type == TypeBoolean || f.Name == "OwnerId",
		RestrictedPicklist: f.Restricted, PicklistValues: []picklistValueWire{}, ReferenceTo: append([]string{}, f.ReferenceTo...)}
	for _, value := range f.Values {
		w.PicklistValues = append(w.PicklistValues, picklistValueWire{Active: true, Label: value, Value: value})
	}
	if name := f.relationship(); name != "" {
		w.RelationshipName = &name
	}
	return w
}
