package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// readArray reads a row that SQLite returned as one JSON array of its columns.
func readArray[T any](text []byte, columns sqlstore.Columns[T], v *T) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	if err := readDelimiter(d, '['); err != nil {
		return err
	}
	for _, c := range columns {
		if err := readValue(d, c.Field(v)); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return readDelimiter(d, ']')
}

func readDelimiter(d *jsontext.Decoder, want jsontext.Kind) error {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != want {
		err = fmt.Errorf("%v instead of %v", t.Kind(), want)
	}
	return err
}

// readValue reads the next value into the field of a column.
func readValue(d *jsontext.Decoder, field any) error {
	t, err := d.ReadToken()
	if err != nil {
		return err
	}
	if s, ok := field.(*string); ok && t.Kind() == '"' { // most columns
		*s = t.String()
		return nil
	}
	var v any // as the driver returns such a column
	switch t.Kind() {
	case '"':
		v = t.String()
	case '0':
		if v, err = t.Int(); err != nil {
			return err
		}
	case 'n':
	default:
		return fmt.Errorf("%v instead of a value", t.Kind())
	}
	if into, ok := field.(sql.Scanner); ok {
		return into.Scan(v)
	}
	n, ok := v.(int64)
	switch field := field.(type) {
	case *int64:
		*field = n
	case *int:
		*field = int(n)
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("%v is not read into a %T", t.Kind(), field)
	}
	return nil
}
