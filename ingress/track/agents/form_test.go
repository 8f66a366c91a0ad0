package agents_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/track/agents"
)

func TestProgramsWithoutABrowserAreNoPeople(t *testing.T) {
	list, err := agents.New()
	require.NoError(t, err)
	for _, agent := range []string{
		"-", "--", "null", "NULL", "None", "undefined", "(null)", "\"null\"", "?", " . ", "unknown",
		"reqwest", "reqwest/0.12.4", "LangChain/0.2", "langchain", "LlamaIndex/0.10", "OpenAI/Python 1.30.1",
		"AsyncOpenAI/Python 1.2", "Anthropic/JS 0.20.1", "mcp-client/1.0.0", "mcp-client-python/0.1", "mcp-remote/0.1",
		"fastmcp/2.1", "CrewAI/0.5", "Cypress/13.2", "Playwright/1.44.0 (x64; ubuntu 22.04) node/20.1",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Cypress/13.6.0 Chrome/114.0.5735.289 " +
			"Electron/25.8.4 Safari/537.36",
	} {
		require.NotEqual(t, agents.Unlisted, list.Kind(agent), "%q", agent)
	}
	for _, agent := range []string{
		"Nullable/2 CFNetwork/1494 Darwin/23.4.0", "ChatGPT/1.2025.012 (iOS 18.2; iPhone14,5; build 12402)",
		"OpenAIChat/3 CFNetwork/1494.0.7 Darwin/23.4.0", "Testify/3 (Android 14; Pixel 8)", "Mozilla/5.0",
	} {
		require.Equal(t, agents.Unlisted, list.Kind(agent), "%q", agent)
	}
}
