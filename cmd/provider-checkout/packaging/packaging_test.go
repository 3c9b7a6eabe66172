package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fromYAML reads a YAML file.
func fromYAML(t *testing.T, path string, into any) {
	t.Helper()
	if _, err := yaml.Unmarshal([]byte(read(t, path)), into, yaml.DecodeOpts{}); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

type composition struct {
	Services map[string]struct {
		Image string `json:"image"`
		Build *struct {
			Context    string `json:"context"`
			Dockerfile string `json:"dockerfile"`
		} `json:"build"`
		Environment map[string]string `json:"environment"`
		DependsOn   map[string]any    `json:"depends_on"`
		ReadOnly    bool              `json:"read_only"`
		CapDrop     []string          `json:"cap_drop"`
		Volumes     []string          `json:"volumes"`
	} `json:"services"`
	Volumes map[string]any `json:"volumes"`
}

func TestCompositionFitsTogether(t *testing.T) {
	var all composition
	fromYAML(t, "compose.yaml", &all)
	own := all.Services["provider-checkout"]
	if own.Build == nil || !own.ReadOnly || !slices.Equal(own.CapDrop, []string{"ALL"}) {
		t.Fatalf("the program's service is %+v, want it built, without capabilities and read-only", own)
	}
	if _, err := os.Stat(filepath.Join(own.Build.Context, own.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	for name, service := range all.Services {
		for other := range service.DependsOn {
			if _, there := all.Services[other]; !there {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
		for _, volume := range service.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, there := all.Volumes[from]; !there {
				t.Errorf("%s uses the volume %s, which is not there", name, from)
			}
		}
	}
	database := all.Services["database"].Environment
	want := fmt.Sprintf("postgres://%s:%s@database/%[1]s?sslmode=disable", database["POSTGRES_USER"], database["POSTGRES_PASSWORD"])
	if own.Environment["PROVIDER_CHECKOUT_STORE"] != want {
		t.Errorf("the store is %s, want %s, as the database's service has it", own.Environment["PROVIDER_CHECKOUT_STORE"], want)
	}
}
