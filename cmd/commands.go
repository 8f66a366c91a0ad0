// Package cmd contains the commands of the binary. It builds each role by constructor calls and
// sets the order in which the parts start and stop.
//
// # Notes
//
// After a full load of the catalog, memory.go sets the garbage collector to 16 MiB or 25 % of
// head-room, unless GOGC is set.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"adnet/cmd/cli"
	"adnet/cmd/operate"
	"adnet/internal/process/link"
	"adnet/internal/process/obs"
)

// Invocation holds everything that a run of the program receives from outside. Tests run the
// program through it as main does.
type Invocation struct {
	Args           []string
	Stdout, Stderr io.Writer
	Hurry          <-chan struct{} // closed when a stop must not wait for balancers; may be nil
}

// commands defines the command line. Every flag is also an environment variable.
type commands struct {
	LogFormat   string `name:"log-format" env:"ADNET_LOG_FORMAT" default:"json" enum:"json,text" help:"Format of the log lines on standard error: json or text."`
	LogLevel    string `name:"log-level" env:"ADNET_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Lowest level that is logged."`
	Insecure    bool   `name:"insecure" env:"ADNET_INSECURE" help:"Allow connections beyond loopback that are in plain text, or encrypted without verifying the server."`
	PrintConfig bool   `name:"print-config" help:"Print the settings of the command, without secrets, and exit."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and stop."`

	Standalone standalone        `cmd:"" help:"Everything in one process, in memory, with a demo. Use it to try adnet."`
	Ingress    ingress           `cmd:"" help:"The HTTP role: auctions, tracking, management."`
	Consumers  consumers         `cmd:"" help:"The consumer role: settlement, archive, projection, nightly roll-up."`
	Migrate    migrate           `cmd:"" help:"Bring PostgreSQL, ClickHouse and the Kafka topics to this version."`
	Verify     operate.Verify    `cmd:"" help:"Check the money invariants on the live stores; exit 1 on a difference."`
	Statement  operate.Statement `cmd:"" help:"Print an account's month as CSV."`
	Rollup     operate.Rollup    `cmd:"" help:"Roll a day of stats up."`
	Train      trainRun          `cmd:"" name:"train" help:"Train the ranking on clicks, explain why a version was rejected, or roll back."`
	User       user              `cmd:"" help:"Create, promote, disable users; issue and revoke their keys."`
	Load       loadRun           `cmd:"" help:"Import campaigns and replay contexts through the public API."`
	Doctor     operate.Doctor    `cmd:"" help:"Connect to every server, report problems and how to fix them; exit 1 if there are any."`
	DLQ        operate.DLQ       `cmd:"" name:"dlq" help:"List dead letters or send them again."`
	Parked     operate.Parked    `cmd:"" help:"List payment events that could not be applied; credit, debit or dismiss them."`
	Reconcile  operate.Reconcile `cmd:"" help:"Compare Redis with PostgreSQL and ClickHouse with the ledger; --fix repairs; exit 1 on a difference."`
	Backup     operate.Backup    `cmd:"" help:"Copy PostgreSQL and ClickHouse to a directory, at one watermark."`
	Restore    operate.Restore   `cmd:"" help:"Restore a backup into empty stores."`
	Retention  operate.Retention `cmd:"" help:"Remove expired data: marks, applied ranges, dead letters, idempotency keys."`
	Audit      operate.AuditLog  `cmd:"" name:"audit" help:"Print the audit log."`
	Health     healthProbe       `cmd:"" help:"Ask the process on this machine whether it is ready; exit 1 if it is not."`
	Spool      spoolCommand      `cmd:"" name:"spool" help:"Save the events of a node that is gone."`
	Alerts     alertsCommand     `cmd:"" help:"Print the alerts as rules for Prometheus or its operator."`
	Version    versionCommand    `cmd:"" help:"Print the version, the revision and the Go release of the build."`
}

// Main parses the command line, runs the command until it ends or ctx does, and returns the exit
// status: 0, or 1 after one line on standard error.
func Main(ctx context.Context, p Invocation) int {
	err := start(ctx, p)
	if err == nil {
		return 0
	}
	if !errors.Is(err, cli.ErrExit) {
		// Joined errors and driver errors contain line breaks. Scripts and people read one line.
		fmt.Fprintln(p.Stderr, "adnet:", strings.Join(strings.Fields(err.Error()), " "))
	}
	return 1
}

func start(ctx context.Context, p Invocation) error {
	selected, process, err := parse(ctx, p)
	if selected == nil {
		return err
	}
	return selected.Run(process)
}

// command is a subcommand with its flags. [parse] returns it in place of kong's context, whose model
// of all flags would stay in memory as long as the command runs.
type command interface {
	Run(process cli.Process) error
}

// parse returns the command that the arguments select and its environment. The command is nil if the
// reply, such as --help, has been written, or with an error.
func parse(ctx context.Context, p Invocation) (command, cli.Process, error) {
	var line commands
	exited := false
	parser, err := kong.New(&line, kong.Name("adnet"), kong.UsageOnError(), kong.Writers(p.Stdout, p.Stderr),
		kong.Description("An advertising network for AI applications."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Vars{"version": versionLine()},
		kong.Resolvers(kong.ResolverFunc(fromFiles)), kong.Exit(func(int) { exited = true }))
	if err != nil {
		return nil, cli.Process{}, err
	}
	selected, err := parser.Parse(p.Args)
	if exited { // --help has been answered
		return nil, cli.Process{}, nil
	}
	if err != nil {
		return nil, cli.Process{}, err
	}
	if line.PrintConfig {
		return nil, cli.Process{}, printConfig(p.Stdout, selected)
	}
	permit(reflect.ValueOf(&line).Elem(), link.Insecure(line.Insecure))
	log, err := obs.NewLogger(p.Stderr, line.LogFormat, line.LogLevel)
	if err != nil {
		return nil, cli.Process{}, err
	}
	process := cli.Process{
		Ctx: cli.AsCommand(ctx, selected.Command()), Stdout: p.Stdout, Stderr: p.Stderr, Log: log,
		Hurry: p.Hurry,
	}
	if alone, ok := selected.Selected().Target.Addr().Interface().(command); ok {
		return alone, process, nil
	}
	return withParents{selected}, process, nil
}

// withParents is a command whose Run is called with what its parent commands provide.
type withParents struct{ selected *kong.Context }

// Run implements command.
func (c withParents) Run(process cli.Process) error { return c.selected.Run(process) }

// permit copies --insecure into the settings of every link, wherever a command has them. A setting
// that it missed would refuse plain text.
func permit(settings reflect.Value, insecure link.Insecure) {
	for _, field := range settings.Fields() {
		switch {
		case !field.CanSet():
		case field.Type() == reflect.TypeFor[link.Insecure]():
			field.SetBool(bool(insecure))
		case field.Kind() == reflect.Struct:
			permit(field, insecure)
		}
	}
}
