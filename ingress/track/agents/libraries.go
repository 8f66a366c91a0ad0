package agents

// libraries are the names, in lower case, with which the agents of libraries and tools begin that
// the bought list lacks.
var libraries = []string{
	// C, C++
	"libcurl", "curl", "libsoup", "libwww", "boost.beast", "cpp-httplib", "cpprestsdk", "esp32 http client",
	"esp8266httpclient", "esp32httpclient", "arduino", "lavf", "gstreamer", "wininet", "winhttp",
	"microsoft bits", "aws-sdk-cpp",
	// C#, .NET, PowerShell
	"restsharp", "flurl", "refit", "dotnet", ".net", "microsoft.net",
	"mozilla/5.0 (windows nt; windows nt 10.0; en-us) windowspowershell",
	"powershell", "system.net",
	// Dart, Swift, Objective-C
	"dart", "alamofire", "swift-nio", "async-http-client", "vapor",
	// Elixir, Erlang
	"hackney", "finch", "httpoison", "inets", "erlang", "elixir",
	// Go
	"go-http-client", "go 1.1 package http", "go-resty", "resty", "fasthttp", "grequests", "gorequest",
	"heimdall", "go-getter",
	// Haskell, OCaml, Julia, R, Lua, Nim, Crystal, Zig, Perl, Tcl
	"http-client", "haskell-http", "req-haskell", "wreq", "cohttp", "ocaml-cohttp", "julia", "http.jl", "r",
	"rcurl", "httr", "httr2",
	"lua-resty-http", "luasocket", "nim httpclient", "nim-httpclient", "crystal", "zig", "lwp", "perl",
	"mojolicious", "http-tiny",
	"www-mechanize", "tcl http client package",
	// Java, Kotlin, Scala, Clojure
	"java", "java-http-client", "jakarta", "jakarta commons-httpclient", "apache-httpclient",
	"apache-httpasyncclient", "jersey",
	"resteasy", "retrofit", "feign", "reactornetty", "vert.x", "vert.x-webclient", "unirest-java", "rest-assured",
	"google-http-java-client", "ktor", "ktor-client", "ktor client", "akka-http", "pekko-http", "http4s",
	"http4s-ember", "sttp",
	"scalaj-http", "clj-http", "http-kit", "armeria", "netty", "helidon", "micronaut", "quarkus",
	// JavaScript
	"node", "node.js", "nodejs", "node-superagent", "superagent", "got", "undici", "needle", "wretch",
	"deno", "bun", "fetch", "cross-fetch", "make-fetch-happen", "minipass-fetch", "npm", "pnpm", "yarn", "jsdom",
	"urlgrabber", "electron-fetch",
	"nodemailer", "react-native-fetch",
	// PHP
	"php", "guzzlehttp", "guzzle", "symfony httpclient", "symfony", "laravel", "laminas_http_client",
	"zend_http_client", "cakephp", "snoopy",
	"httpful", "php-requests", "pear http_request", "http_request2", "drupal", "joomla", "typo3", "magento",
	// Python
	"python", "python-httpx", "urllib", "urllib3", "pycurl", "httplib2", "python-httplib2", "aiohttp", "treq",
	"twisted", "uplink", "httpcore",
	"niquests", "curl_cffi", "curl-cffi", "tornado", "pip", "poetry", "pandas", "mechanicalsoup", "requests-html",
	// Ruby
	"ruby", "faraday", "faraday v", "httparty", "rest-client", "typhoeus", "excon", "httpclient", "http.rb",
	"carrierwave", "em-http",
	"httpx.rb", "mechanize", "bundler", "rubygems", "nestful", "patron",
	// Rust
	"reqwest", "ureq", "hyper", "isahc", "awc", "actix-web", "attohttpc", "cargo",
	// frameworks of AI agents, and clients of their protocols
	"langchain", "langchainjs", "langgraph", "langsmith", "llamaindex", "llama-index", "llama_index", "autogen",
	"crewai", "haystack", "semantic-kernel", "dspy", "smolagents", "pydantic-ai", "agno", "openai", "asyncopenai",
	"anthropic", "asyncanthropic", "litellm", "google-genai-sdk", "ai-sdk", "mastra", "mcp", "mcp-client",
	"mcp-remote", "fastmcp", "modelcontextprotocol", "@modelcontextprotocol", "browser-use", "n8n", "zapier",
	// drivers of browsers, which name themselves in place of one
	"cypress", "puppeteer", "playwright", "selenium", "webdriver", "testcafe", "nightwatch",
	// tools
	"wget", "wget2", "httpie", "postman", "postmanruntime", "insomnia", "bruno-runtime", "rapidapi", "hoppscotch",
	"thunder client", "apache-jmeter", "apachebench", "k6", "gatling", "locust", "vegeta", "wrk", "wrk2",
	"siege", "artillery",
	"oha", "autocannon", "aria2", "axel", "lftp", "rclone", "restic", "terraform", "ansible-httpget", "puppet",
	"kube-probe", "elb-healthchecker", "googlehc", "prometheus", "grafana", "datadog", "telegraf", "envoy",
	"haproxy", "traefik",
	"varnish", "nginx", "docker-client", "containerd", "skopeo", "helm", "kubectl", "aws-cli", "aws-sdk",
	"boto3", "botocore",
	"azsdk", "gcloud", "gsutil", "stripe-cli", "slack-hooks", "github-hookshot", "gobuster", "feroxbuster",
	"ffuf", "nuclei", "httprobe",
	"whatweb", "wfuzz", "dirb", "zgrab", "masscan", "nmap", "openvas", "owasp zap", "metasploit", "hakrawler",
	"microsoft-webdav-miniredir", "microsoft office existence discovery", "microsoft url control", "gvfs", "davfs2",
	"apache droid", "ultradns", "wordpress.com", "movabletype",
}
