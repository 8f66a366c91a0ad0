package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// PostgreSQL's own programs get the servers and the encryption of the URL, in whatever form.
func TestProgramsConnectAsWeDo(t *testing.T) {
	for text, want := range map[string][]string{
		"postgres://u:p%40s@db1:5433,db2:5434/adnet?sslmode=verify-full&target_session_attrs=read-write": {
			"PGHOST=db1,db2", "PGPORT=5433,5434", "PGUSER=u", "PGPASSWORD=p@s", "PGDATABASE=adnet",
			"PGSSLMODE=verify-full",
			"PGSSLROOTCERT=system", "PGTARGETSESSIONATTRS=read-write",
		},
		`host=db1 port=5433 user=u password='it\'s' dbname=adnet sslmode = 'disable'`: {
			"PGHOST=db1", "PGPORT=5433", "PGUSER=u", "PGPASSWORD=it's", "PGDATABASE=adnet", "PGSSLMODE=disable",
		},
	} {
		config, err := pgx.ParseConfig(text)
		require.NoError(t, err, text)
		require.ElementsMatch(t, append(want, "PGTZ=UTC"), programEnv(text, config), text)
	}
}
