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
	if s, ok := field.(*string); ok {
		if t.Kind() != '"' {
			return fmt.Errorf("%v instead of text", t.Kind())
		}
		*s = t.String()
		return nil
	}
	switch field := field.(type) {
	case *int64:
		*field, err = integer(t)
	case *int:
		var n int64
		n, err = integer(t)
		*field = int(n)
	case sql.Scanner:
		err = scanToken(field, t)
	default:
		err = fmt.Errorf("no value is read into a %T", field)
	}
	return err
}

func integer(t jsontext.Token) (int64, error) {
	if t.Kind() != '0' {
		return 0, fmt.Errorf("%v instead of a number", t.Kind())
	}
	return t.Int()
}

// scanToken passes the value to the scanner in the type in which the driver returns such a column.
func scanToken(into sql.Scanner, t jsontext.Token) error {
	switch t.Kind() {
	case '"':
		return into.Scan(t.String())
	case '0':
		n, err := integer(t)
		if err != nil {
			return err
		}
		return into.Scan(n)
	case 'n':
		return into.Scan(nil)
	}
	return fmt.Errorf("%v instead of a value", t.Kind())
}
