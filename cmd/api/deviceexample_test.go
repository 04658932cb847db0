package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestDeviceExample_LogsInAgainstTheAPI(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	r := s.serve(t)
	tenant := s.tenant(t, r, "acme")
	made, err := s.operator(t, r).CreateClientWithResponse(t.Context(), tenant.id, nil,
		holdfast.NewPublicClient{Name: "tv", VerificationURI: "https://acme.example/device"})
	if err != nil {
		t.Fatal(err)
	}
	client := connect(t, r, tenant.key)
	account, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "ada"})
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), "go", "run", "../../clients/go/example/device")
	cmd.Env = append(os.Environ(), "HOLDFAST_URL="+r.url, "CLIENT_ID="+made.JSON201.ID)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		said = append(said, lines.Text())
		code, shown := strings.CutPrefix(lines.Text(), "Go to https://acme.example/device and type ")
		if !shown {
			continue
		}
		if _, err := client.ApproveDeviceWithResponse(t.Context(), holdfast.CodeGuess{UserCode: code, AccountID: account.JSON201.ID}); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil || len(said) != 4 || said[3] != "It has signed out." {
		t.Errorf("%v\n%s", err, strings.Join(said, "\n"))
	}
	devices, err := client.ListAccountDevicesWithResponse(t.Context(), account.JSON201.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if all := devices.JSON200.Devices; len(all) != 1 || all[0].Status != "revoked" || *all[0].Label != "Example device" {
		t.Errorf("the account's devices are %+v", all)
	}
}
