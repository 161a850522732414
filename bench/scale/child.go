package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// roleVariable tells a child of this program its role.
const roleVariable = "PARLEY_SCALE_ROLE"

// childPatience is how long a child may take for an answer.
const childPatience = 3 * time.Minute

// roles are what a child can be: each is given what it is to do, and returns how it answers each question after that.
var roles = map[string]func(with json.RawMessage) (first any, ask func() (any, error), err error){
	"server": roomServer, "bots": roomBots, "nats": natsServer, "node": natsNode,
}

// child is this program in another role, in a process of its own, so that its CPU time is its own.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// start starts a child, and returns its first answer.
func start(role string, with, first any) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self)}
	c.cmd.Env, c.cmd.Stderr = append(os.Environ(), roleVariable+"="+role), os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 1<<20)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(with)
	if err == nil {
		err = c.ask(text, first)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	return c, nil
}

// ask writes a line and reads the answer.
func (c *child) ask(line []byte, answer any) error {
	slow := time.AfterFunc(childPatience, func() { c.cmd.Process.Kill() })
	defer slow.Stop()
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return err
	}
	if !c.out.Scan() {
		return errors.Join(c.out.Err(), errors.New("the process ended"))
	}
	var r struct {
		Error string
		Value json.RawMessage
	}
	if err := json.Unmarshal(c.out.Bytes(), &r); err != nil {
		return err
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return json.Unmarshal(r.Value, answer)
}

// stop ends the child: its input ends, and if it does not go by itself, it is killed.
func (c *child) stop() {
	c.in.Close()
	slow := time.AfterFunc(5*time.Second, func() { c.cmd.Process.Kill() })
	c.cmd.Wait() // how it ends says nothing of what was measured
	slow.Stop()
}

// serve is a child's life: the first line is what it does, and each later one a question.
func serve(role string) {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 1<<20)
	begin := roles[role]
	var ask func() (any, error)
	for in.Scan() {
		var value any
		var err error
		if ask == nil {
			value, ask, err = begin(in.Bytes())
		} else {
			value, err = ask()
		}
		r := map[string]any{"Value": value}
		if err != nil {
			r = map[string]any{"Error": err.Error()}
		}
		_ = out.Encode(r) // a parent that is gone has closed our input too
		if err != nil {
			return
		}
	}
}
