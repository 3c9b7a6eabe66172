package packaging

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

var release = flag.String("release", "", "the folder of a release that .ci/release made")

// .ci/release itself holds that two builds give the same bytes.
func TestReleaseHoldsWhatAUserReliesOn(t *testing.T) {
	if *release == "" {
		t.Skip("-release does not name the folder of a release; .ci/run makes one and does")
	}
	archives, err := filepath.Glob(filepath.Join(*release, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	sums := read(t, filepath.Join(*release, "SHA256SUMS"))
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		data, bill := read(t, archive), read(t, filepath.Join(*release, name+".cdx.json"))
		for file, content := range map[string]string{name + ".tar.gz": data, name + ".cdx.json": bill} {
			if want := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), file); !strings.Contains(sums, want) {
				t.Errorf("SHA256SUMS lacks %q:\n%s", want, sums)
			}
		}
		files := unpacked(t, data)
		for _, want := range []string{"provider-checkout", "THIRD_PARTY.txt", "changelog.md", "upgrading.md", "alerts.yaml", "board.json",
			"provider-checkout.service", "production/settings.json", "completion/provider-checkout.bash", "man/man1/provider-checkout.1"} {
			if len(files[name+"/"+want]) == 0 {
				t.Errorf("%s lacks %s", archive, want)
			}
		}
		if string(files[name+"/provider-checkout.cdx.json"]) != bill {
			t.Errorf("the bill of materials in %s is not that beside it", archive)
		}
		checkMaterials(t, files[name+"/provider-checkout"], bill, string(files[name+"/THIRD_PARTY.txt"]))
	}
}

// unpacked returns the files of an archive by their names.
func unpacked(t *testing.T, data string) map[string][]byte {
	t.Helper()
	compressed, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
		if runs := header.FileInfo().Mode()&0o111 != 0; header.Uid != 0 || runs != (header.Typeflag == tar.TypeDir || filepath.Base(header.Name) == "provider-checkout") {
			t.Errorf("%s is of user %d with mode %v", header.Name, header.Uid, header.FileInfo().Mode())
		}
	}
}

// checkMaterials checks that the bill of materials and the licences have every module of a program.
func checkMaterials(t *testing.T, program []byte, bill, licences string) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	var listed struct {
		Components []struct{ Name, Version string } `json:"components"`
	}
	if err := json.Unmarshal([]byte(bill), &listed); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, c := range listed.Components {
		versions[c.Name] = c.Version
	}
	if versions["std"] != info.GoVersion || len(versions) != len(info.Deps)+1 {
		t.Errorf("the bill has Go %s and %d modules, the program %s and %d", versions["std"], len(versions)-1, info.GoVersion, len(info.Deps))
	}
	for _, dep := range info.Deps {
		if versions[dep.Path] != dep.Version {
			t.Errorf("the bill has %s %q, the program %s", dep.Path, versions[dep.Path], dep.Version)
		}
		if !strings.Contains(licences, "\n"+dep.Path+"@"+dep.Version+"/") {
			t.Errorf("THIRD_PARTY.txt has no licence of %s", dep.Path)
		}
	}
	for _, text := range []string{"\ngo/LICENSE\n", "SIL OPEN FONT LICENSE", "Droid Sans Fallback", "Bitstream Vera"} {
		if !strings.Contains(licences, text) {
			t.Errorf("THIRD_PARTY.txt lacks %q", text)
		}
	}
}
