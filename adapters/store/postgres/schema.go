package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// schema is the schema of the store's tables. Statements are written with @. before each table.
type schema struct {
	name      string   // "" for the first schema of the search path
	qualified sync.Map // from a statement as it is written to the statement as it is sent
}

// maxNameLength is the length in bytes from which on PostgreSQL truncates a name.
const maxNameLength = 63

func (s *schema) check() error {
	if len(s.name) > maxNameLength || strings.ContainsRune(s.name, 0) {
		return fmt.Errorf("%q cannot be the name of a schema", s.name)
	}
	return nil
}

// quoted returns the name as SQL has it.
func (s *schema) quoted() string { return pgx.Identifier{s.name}.Sanitize() }

// table returns the name of a table of the store, as a value.
func (s *schema) table(name string) string {
	if s.name == "" {
		return name
	}
	return s.quoted() + "." + name
}

// qualify returns the statement as it is sent: with the schema's name before each table, and with numbers for question marks. It is
// made once, so that its text, which prepared statements are found by, is always the same string.
func (s *schema) qualify(statement string) string {
	if text, ok := s.qualified.Load(statement); ok {
		return text.(string)
	}
	prefix := ""
	if s.name != "" {
		prefix = s.quoted() + "."
	}
	var text strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			text.WriteString("$" + strconv.Itoa(i))
		}
		text.WriteString(part)
	}
	qualified, _ := s.qualified.LoadOrStore(statement, strings.ReplaceAll(text.String(), "@.", prefix))
	return qualified.(string)
}
