package salesforcetest

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// maxBody is the largest body, in bytes, that is read: a file of 37.5 MB in base64. maxDepth is how deep its JSON may be
// nested.
const (
	maxBody  = 51 << 20
	maxDepth = 16
)

// maxParts is the largest number of parts of a form.
const maxParts = 4

func (c *call) hasBody() bool { return c.method == http.MethodPost || c.method == http.MethodPatch }

// read reads the body of a call that has one.
func (c *call) read(w http.ResponseWriter, r *http.Request) *apiError {
	if !c.hasBody() {
		return nil
	}
	limited := http.MaxBytesReader(w, r.Body, maxBody)
	media, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case media == "application/json":
		data, err := io.ReadAll(limited)
		if err != nil {
			return unreadable(err)
		}
		return c.parse(data)
	case media == "multipart/form-data" && params["boundary"] != "" && c.route.path == "sobjects/{type}":
		return c.readForm(multipart.NewReader(limited, params["boundary"]))
	}
	return failure(http.StatusUnsupportedMediaType, codeUnsupportedMedia, "Content type %q is not supported", media)
}

// parse reads the JSON of a call.
func (c *call) parse(data []byte) (err *apiError) {
	v, wrong := strictjson.Parse(data, maxDepth)
	if wrong != nil {
		return badJSON("%s", wrong)
	}
	if c.body = v; c.route != nil && c.route.path == "composite" {
		c.unit, err = readComposite(data)
	}
	return err
}

// readForm reads a record whose file comes beside its JSON. The parts may come in any order.
func (c *call) readForm(from *multipart.Reader) *apiError {
	c.content = map[string]string{}
	for read, hasJSON := 0, false; ; read++ {
		part, err := from.NextPart()
		if errors.Is(err, io.EOF) && hasJSON {
			return nil
		}
		if err != nil || read == maxParts {
			return unreadable(err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return unreadable(err)
		}
		if part.FileName() != "" {
			c.content[part.FormName()] = string(data)
			continue
		}
		if hasJSON {
			return failure(http.StatusBadRequest, "INVALID_MULTIPART_REQUEST", "A form has one part of JSON, and files with a name")
		}
		hasJSON = true
		if err := c.parse(data); err != nil {
			return err
		}
	}
}

// unreadable is the error of a body that does not come whole, or is too much.
func unreadable(err error) *apiError {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return failure(http.StatusRequestEntityTooLarge, "REQUEST_ENTITY_TOO_LARGE", "The request body is too large")
	}
	return badJSON("The HTTP entity body could not be read")
}

// preset returns the values of fields that come beside the body, and refuses others.
func (c *call) preset() (map[string]string, *apiError) {
	values := map[string]string{}
	for name, content := range c.content {
		f := c.table.field(name)
		if f == nil || f.Type != TypeBase64 {
			return nil, refused(unknownColumn(name, c.table.Name))
		}
		values[f.Name] = content
	}
	return values, nil
}
