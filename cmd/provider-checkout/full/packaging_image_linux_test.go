package full_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func imageRuns(t *testing.T, program proc.Binary) {
	if docker, err := exec.LookPath("docker"); err == nil && exec.CommandContext(t.Context(), docker, "info").Run() == nil {
		inDocker(t, docker)
		return
	}
	byHand(t, program)
}

// inDocker builds the image and runs the program in it.
func inDocker(t *testing.T, docker string) {
	const image = "provider-checkout:test"
	for _, args := range [][]string{
		{"build", "--file", "Dockerfile", "--tag", image, "../../.."},
		{"run", "--rm", "--read-only", "--cap-drop=ALL", image, "version"},
	} {
		if said, err := judge(t, docker, args...); err != nil {
			t.Fatalf("docker %q: %v\n%s", args, err, said)
		}
	}
}

// imageRoot is the last stage of the Dockerfile.
type imageRoot struct {
	root       string
	user       uint32
	env        []string
	dir        string
	entrypoint []string
	command    []string
	volume     string
}

// byHand lays out the root file system of the image, makes it read-only, and serves in it as the user of the image.
func byHand(t *testing.T, program proc.Binary) {
	if os.Getuid() != 0 {
		t.Fatal("there is no Docker, and only root may change the root of a process")
	}
	i := layOut(t, program)
	freezeImage(t, i)

	serving := i.run(t, append(i.env, "PROVIDER_CHECKOUT_ADDR=127.0.0.1:0"), i.command...)
	p := proc.Start(t, serving)
	base := p.Listening(t)
	if got := sandbox.Fetch(t, base+"/v1"); got.Status != http.StatusOK {
		t.Errorf("GET /v1 in the image answers %d %s", got.Status, got.Body)
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(serving.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	if id := strconv.Itoa(int(i.user)); !strings.Contains(string(status), "\nUid:\t"+strings.Repeat(id+"\t", 3)+id+"\n") || i.user == 0 {
		t.Errorf("it does not run as user %s alone:\n%s", id, status)
	}
	providers, err := os.ReadFile("../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	nameless := i.run(t, i.env, "apply", "-f", "-")
	nameless.Stdin = bytes.NewReader(providers)
	if out, err := nameless.CombinedOutput(); err == nil || !strings.Contains(string(out), "PROVIDER_CHECKOUT_OPERATOR") {
		t.Errorf("apply without a name: %v, %s", err, out)
	}
	named := i.run(t, append(i.env, "PROVIDER_CHECKOUT_OPERATOR=Aroha"), "apply", "-f", "-")
	named.Stdin = bytes.NewReader(providers)
	if out, err := named.CombinedOutput(); err != nil {
		t.Errorf("apply: %v, %s", err, out)
	}
	if out, err := i.run(t, i.env, "backup", "--out", filepath.Join(i.volume, "backup.db")).CombinedOutput(); err != nil {
		t.Errorf("backup: %v, %s", err, out)
	}
	checkIntact(t, filepath.Join(i.root, i.volume, "backup.db"))
	p.Stop(t, syscall.SIGTERM)
}

// layOut makes the root file system of the image by the last stage of the Dockerfile.
func layOut(t *testing.T, program proc.Binary) imageRoot {
	t.Helper()
	_, stage, ok := strings.Cut(packaged(t, "Dockerfile"), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not FROM scratch")
	}
	i := imageRoot{root: t.TempDir()}
	for line := range strings.Lines(stage) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "", "#", "EXPOSE":
		case "COPY":
			i.copy(t, strings.Fields(rest), program)
		case "ENV":
			i.env = append(i.env, rest)
		case "WORKDIR":
			i.dir = rest
		case "VOLUME":
			i.volume = rest
		case "USER":
			id, _, _ := strings.Cut(rest, ":")
			n, err := strconv.ParseUint(id, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			i.user = uint32(n)
		case "ENTRYPOINT":
			list(t, rest, &i.entrypoint)
		case "CMD":
			list(t, rest, &i.command)
		default:
			t.Fatalf("the test does not know %s", instruction)
		}
	}
	return i
}

func list(t *testing.T, text string, into *[]string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// copy does what a COPY instruction does with what the stage before has made.
func (i imageRoot) copy(t *testing.T, words []string, program proc.Binary) {
	t.Helper()
	mode, owner := fs.FileMode(0o755), 0
	for strings.HasPrefix(words[0], "--") {
		option, value, _ := strings.Cut(words[0], "=")
		words = words[1:]
		switch option {
		case "--from":
		case "--chmod":
			n, err := strconv.ParseUint(value, 8, 32)
			if err != nil {
				t.Fatal(err)
			}
			mode = fs.FileMode(n)
		case "--chown":
			id, _, _ := strings.Cut(value, ":")
			n, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			owner = n
		default:
			t.Fatalf("the test does not know %s", option)
		}
	}
	from, to := words[0], filepath.Join(i.root, words[1])
	made := map[string]string{"/out/provider-checkout": string(program), "/etc/ssl/certs/ca-certificates.crt": "/etc/ssl/certs/ca-certificates.crt"}
	var err error
	if from == "/out/data" {
		err = os.MkdirAll(to, mode)
	} else if made[from] == "" {
		t.Fatalf("the test does not know what %s is", from)
	} else {
		err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), copyFile(made[from], to, mode))
	}
	if err := errors.Join(err, os.Chmod(to, mode), os.Chown(to, owner, owner)); err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) { // a machine without certificates
		return os.WriteFile(to, nil, mode)
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// freezeImage makes the file system read-only but for the volume.
func freezeImage(t *testing.T, i imageRoot) {
	t.Helper()
	volume := filepath.Join(i.root, i.volume)
	var made unix.Stat_t // a new volume is as the folder of the image
	if err := unix.Stat(volume, &made); err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		from, to string
		flags    uintptr
	}{
		{i.root, i.root, unix.MS_BIND},
		{"", i.root, unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID},
		{"tmpfs", volume, unix.MS_NOSUID},
	} {
		kind := ""
		if m.from == "tmpfs" {
			kind = "tmpfs"
		}
		if err := unix.Mount(m.from, m.to, kind, m.flags, ""); err != nil {
			t.Fatalf("nothing can be mounted: %v", err)
		}
		if m.flags&unix.MS_REMOUNT == 0 {
			t.Cleanup(func() {
				if err := unix.Unmount(m.to, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if err := errors.Join(os.Chown(volume, int(made.Uid), int(made.Gid)), os.Chmod(volume, fs.FileMode(made.Mode&0o777))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.root, "new"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Fatalf("writing to the image: %v, want that it is read-only", err)
	}
}

// run returns the command that runs the program in the image.
func (i imageRoot) run(t *testing.T, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), i.entrypoint[0], append(i.entrypoint[1:len(i.entrypoint):len(i.entrypoint)], args...)...)
	cmd.Env, cmd.Dir = env, i.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Credential: &syscall.Credential{Uid: i.user, Gid: i.user}}
	return cmd
}
