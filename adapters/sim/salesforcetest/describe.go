package salesforcetest

import "net/http"

func limits(g *org, _ *call) (answer, *apiError) {
	return answer{status: http.StatusOK, body: map[string]limitWire{
		"DailyApiRequests": {Max: g.usage.limit, Remaining: max(0, g.usage.limit-g.usage.spent)}}}, nil
}

func describeAll(g *org, _ *call) (answer, *apiError) {
	var all globalDescribeWire
	for _, t := range g.order {
		all.SObjects = append(all.SObjects, t.toWire())
	}
	return answer{status: http.StatusOK, body: all}, nil
}

func describe(_ *org, c *call) (answer, *apiError) {
	w := c.table.toWire()
	for i := range c.table.Fields {
		w.Fields = append(w.Fields, c.table.Fields[i].toWire())
	}
	return answer{status: http.StatusOK, body: w}, nil
}

// toWire describes an object without its fields.
func (t *table) toWire() objectDescribeWire {
	return objectDescribeWire{Name: t.Name, KeyPrefix: t.Prefix, Custom: custom(t.Name),
		Createable: !t.ReadOnly && t.Name != objectContentDocument, Updateable: !t.ReadOnly}
}

// toWire describes a field.
func (f *Field) toWire() fieldDescribeWire {
	w := fieldDescribeWire{Name: f.Name, Type: f.Type, Length: f.Length, Precision: f.Precision, Scale: f.Scale,
		Nillable: !f.Required && f.Type != TypeID && f.Type != TypeBoolean, Createable: f.writable(),
		Updateable: f.writable() && !f.CreateOnly, Unique: f.Unique, ExternalID: f.ExternalID, Custom: custom(f.Name),
		RestrictedPicklist: f.Restricted, PicklistValues: []picklistValueWire{}, ReferenceTo: append([]string{}, f.ReferenceTo...)}
	for _, value := range f.Values {
		w.PicklistValues = append(w.PicklistValues, picklistValueWire{Active: true, Value: value})
	}
	if name := f.relationship(); name != "" {
		w.RelationshipName = &name
	}
	return w
}
