package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"adnet/cmd/backends"
	"adnet/cmd/cli"
	"adnet/cmd/operate"
	"adnet/internal/account"
	"adnet/internal/store/postgres"
	"adnet/internal/token"
)

// user is `adnet user`: operations that are not available through the API.
type user struct {
	Postgres postgres.Config `embed:""`

	Create   userCreate   `cmd:"" help:"Create an account."`
	Promote  userPromote  `cmd:"" help:"Give an account a role; its logins end."`
	Password userPassword `cmd:"" help:"Set an account's password; its logins end."`
	Disable  userDisable  `cmd:"" help:"Stop an account's logins and keys."`
	Enable   userEnable   `cmd:"" help:"Let a disabled account log in again."`
	Factor   userFactor   `cmd:"" help:"Remove a lost second factor of an account; its logins end."`
	Keys     userKeys     `cmd:"" help:"List, issue and revoke an account's keys."`
	Export   userExport   `cmd:"" help:"Print all data about an account as JSON."`
	Erase    userErase    `cmd:"" help:"Erase the owner's data from an account: keys, campaigns and logins end, the books stay."`
	Invite   userInvite   `cmd:"" help:"Print an invitation to register while ADNET_SIGNUP is invite."`
}

// open connects to the accounts; the caller closes the store.
func (u *user) open(p cli.Process) (*account.Service, *postgres.Stores, error) {
	store, err := postgres.Open(p.Ctx, u.Postgres)
	if err != nil {
		return nil, nil, err
	}
	return account.NewService(account.Deps{
		Users: store.Accounts, Keys: store.Accounts, Sessions: store.Logins, Factors: store.Logins, Now: time.Now,
	}), store, nil
}

type email struct {
	Email string `arg:"" help:"E-mail of the account."`
}

// secretText reads a password from the environment or from standard input, which keeps it out of
// process lists.
type secretText struct {
	Text string `name:"password" env:"ADNET_USER_PASSWORD" secret:"" help:"The password; read from standard input when not set."`
}

func (s secretText) read(p cli.Process) (string, error) {
	if s.Text != "" {
		return s.Text, nil
	}
	fmt.Fprintln(p.Stderr, "password (one line on standard input):")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.Join(
			errors.New("the password is missing: set ADNET_USER_PASSWORD or write it to standard input"), err,
		)
	}
	return line, nil
}

type userCreate struct {
	email      `embed:""`
	secretText `embed:""`
	Role       string `name:"role" default:"advertiser" enum:"advertiser,admin" help:"advertiser or admin."`
}

// Run creates the account and prints its ids.
func (c *userCreate) Run(u *user, p cli.Process) error {
	password, err := c.read(p)
	if err != nil {
		return err
	}
	accounts, store, err := u.open(p)
	if err != nil {
		return err
	}
	defer store.Close()
	create := accounts.Register
	if c.Role == string(account.RoleAdmin) {
		create = accounts.CreateAdmin
	}
	created, err := create(p.Ctx, c.Email, password)
	if err != nil {
		return cli.Sentence(err)
	}
	fmt.Fprintf(
		p.Stdout, "created %s: role %s, id %s, developer_id %s\n", created.Email, created.Role, created.ID,
		created.DeveloperID,
	)
	return nil
}

type userPromote struct {
	email `embed:""`
	Role  string `name:"role" default:"admin" enum:"advertiser,admin" help:"advertiser or admin."`
}

// Run changes the role.
func (c *userPromote) Run(u *user, p cli.Process) error {
	return u.change(p, func(accounts *account.Service) (account.User, error) {
		return accounts.Promote(p.Ctx, c.Email, account.Role(c.Role))
	})
}

type userPassword struct {
	email      `embed:""`
	secretText `embed:""`
	RevokeKeys bool `name:"revoke-keys" help:"Also revoke all keys of the account; without this flag they stay valid."`
}

// Run changes the password.
func (c *userPassword) Run(u *user, p cli.Process) error {
	password, err := c.read(p)
	if err != nil {
		return err
	}
	return u.change(p, func(accounts *account.Service) (account.User, error) {
		changed, err := accounts.SetPassword(p.Ctx, c.Email, password)
		if err != nil || !c.RevokeKeys {
			return changed, err
		}
		n, err := accounts.RevokeKeys(p.Ctx, changed)
		if err == nil {
			fmt.Fprintf(p.Stdout, "%d keys were revoked\n", n)
		}
		return changed, err
	})
}

type userInvite struct {
	email       `embed:""`
	Days        int    `name:"days" default:"7" help:"Validity of the invitation in days."`
	SessionKeys string `name:"session-keys" env:"ADNET_SESSION_KEYS" secret:"" help:"Keys that sign logins and invitations, the same as on the ingress nodes."`
}

// Run prints the invitation.
func (c *userInvite) Run(p cli.Process) error {
	keys, err := keyList("ADNET_SESSION_KEYS", c.SessionKeys, false)
	if err != nil {
		return err
	}
	sessions, err := token.NewSessions(keys)
	if err != nil {
		return err
	}
	if c.Days < 1 {
		return errors.New("--days must be at least 1")
	}
	invite, err := sessions.Invite(c.Email, time.Now().AddDate(0, 0, c.Days))
	if err != nil {
		return err
	}
	fmt.Fprintln(p.Stdout, invite)
	return nil
}

type userDisable struct {
	email `embed:""`
}

// Run disables the account.
func (c *userDisable) Run(u *user, p cli.Process) error {
	return u.change(p, func(accounts *account.Service) (account.User, error) {
		return accounts.Disable(p.Ctx, c.Email, true)
	})
}

type userEnable struct {
	email `embed:""`
}

// Run enables the account.
func (c *userEnable) Run(u *user, p cli.Process) error {
	return u.change(p, func(accounts *account.Service) (account.User, error) {
		return accounts.Disable(p.Ctx, c.Email, false)
	})
}

func (u *user) change(p cli.Process, edit func(*account.Service) (account.User, error)) error {
	accounts, store, err := u.open(p)
	if err != nil {
		return err
	}
	defer store.Close()
	changed, err := edit(accounts)
	if err != nil {
		return cli.Sentence(err)
	}
	fmt.Fprintf(
		p.Stdout, "%s: role %s, disabled %t; earlier logins have ended\n", changed.Email, changed.Role,
		changed.Disabled,
	)
	return nil
}

type userFactor struct {
	email `embed:""`
}

// Run removes the second factor.
func (c *userFactor) Run(u *user, p cli.Process) error {
	return u.change(p, func(accounts *account.Service) (account.User, error) {
		owner, err := accounts.ByEmail(p.Ctx, c.Email)
		if err != nil {
			return owner, err
		}
		if err := accounts.RemoveFactor(p.Ctx, owner); err != nil {
			return owner, err
		}
		_, err = accounts.EndSessions(p.Ctx, owner, uuid.Nil)
		return owner, err
	})
}

type userExport struct {
	Account string `arg:"" help:"E-mail or id of the account."`
}

// Run prints the data.
func (c *userExport) Run(u *user, p cli.Process) error {
	_, store, err := u.open(p)
	if err != nil {
		return err
	}
	defer store.Close()
	return operate.ExportUser(p, backends.InPostgres(store).Person(), c.Account)
}

type userErase struct {
	Account   string `arg:"" help:"E-mail or id of the account."`
	Yes       bool   `name:"yes" help:"Skip the confirmation."`
	TokenKeys string `name:"token-keys" env:"ADNET_TOKEN_KEYS" secret:"" help:"Keys for the hash of the mailbox that stays for 90 days, the same as on ingress; without them the hash of the registration stays."`
}

// Run erases the account.
func (c *userErase) Run(u *user, p cli.Process) error {
	_, store, err := u.open(p)
	if err != nil {
		return err
	}
	defer store.Close()
	persons := backends.InPostgres(store).Person()
	if c.TokenKeys != "" {
		ring, err := keyring(c.TokenKeys, false)
		if err != nil {
			return err
		}
		persons.Marks = ring.Marks
	}
	return operate.EraseUser(p, persons, operate.Erasure{Account: c.Account, Yes: c.Yes, Answer: os.Stdin})
}

type userKeys struct {
	email     `embed:""`
	Issue     string   `name:"issue" enum:",publisher,conversion,seat,seatpath" default:"" help:"Issue a key of this kind (publisher, conversion, seat, seatpath) and print it once."`
	Name      string   `name:"name" help:"Purpose of the issued key."`
	Seat      string   `name:"seat" help:"Id of the seat of the issued key, if its kind has one; without it a new seat is created."`
	Addresses []string `name:"addresses" help:"Addresses and networks, separated by commas, from which an issued seatpath key is accepted; any by default."`
	Revoke    string   `name:"revoke" help:"Id of a key to revoke."`
}

// Run issues or revokes a key, then lists the valid keys.
func (c *userKeys) Run(u *user, p cli.Process) error {
	accounts, store, err := u.open(p)
	if err != nil {
		return err
	}
	defer store.Close()
	owner, err := store.Accounts.UserByEmail(p.Ctx, strings.ToLower(c.Email))
	if err != nil {
		return cli.Sentence(err)
	}
	if c.Revoke != "" {
		id, err := uuid.Parse(c.Revoke)
		if err != nil {
			return errors.New("--revoke takes the id of a key as listed by this command")
		}
		if err := accounts.RevokeKey(p.Ctx, owner, id); err != nil {
			return cli.Sentence(err)
		}
	}
	if c.Issue != "" {
		if err := c.issue(p, accounts, owner); err != nil {
			return err
		}
	}
	keys, err := accounts.Working(p.Ctx, owner)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tKIND\tOF\tPREFIX\tADDRESSES\tNAME\tCREATED")
	for _, k := range keys {
		from := "any"
		if len(k.Addresses) > 0 {
			from = strings.Trim(fmt.Sprint(k.Addresses), "[]")
		}
		fmt.Fprintf(
			table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Kind, k.OwnerID, k.Prefix, from, k.Name,
			k.CreatedAt.Format(time.DateTime),
		)
	}
	return table.Flush()
}

// issue creates a key and prints it.
func (c *userKeys) issue(p cli.Process, accounts *account.Service, owner account.User) error {
	seat := uuid.Nil
	if c.Seat != "" {
		var err error
		if seat, err = uuid.Parse(c.Seat); err != nil {
			return errors.New("--seat takes the id of a seat as listed under OF by this command")
		}
	}
	issuer := owner
	issuer.Role = account.RoleAdmin // the caller of this command administers the database
	key, err := accounts.CreateKey(
		p.Ctx, issuer,
		account.KeyRequest{Kind: account.KeyKind(c.Issue), Name: c.Name, SeatID: seat, Addresses: c.Addresses},
	)
	if err != nil {
		return cli.Sentence(err)
	}
	fmt.Fprintf(p.Stdout, "%s  (shown only now)\n", key.Plain)
	return nil
}
