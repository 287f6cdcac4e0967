import { describe, expect, it } from 'vitest';

import { directLogin, type BackendTarget } from './backend.ts';
import { configToml, tomlString } from './config-toml.ts';

const provider = (backend: BackendTarget): string | undefined => {
  const text = configToml({
    backend,
    catalogueFile: '/state/catalog.json',
    codexVersion: '1.2.3',
    allowsFeedback: false,
    untrusted: [],
  });
  return /\[model_providers\.proxy\]\n([^[]*)/.exec(text)?.[1]?.trim();
};

const DIRECT_LOGIN = directLogin('chatgpt');

const FIXED = `name = "proxy"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 86400000`;

describe('configToml', () => {
  it.each([true, false])('lets codex send feedback only if allowed: %s', (allowsFeedback) => {
    const text = configToml({
      backend: DIRECT_LOGIN,
      catalogueFile: null,
      codexVersion: '1.2.3',
      allowsFeedback,
      untrusted: [],
    });
    expect(text).toContain(`[feedback]\nenabled = ${allowsFeedback}\n`);
  });

  it.each<[string, BackendTarget, string]>([
    [
      'an upstream with a key: its variable is named, not its value',
      { kind: 'upstream', baseUrl: 'https://up.example/v1', apiKeyEnv: 'PROXY_UPSTREAM_API_KEY' },
      'base_url = "https://up.example/v1"\nrequires_openai_auth = false\nenv_key = "PROXY_UPSTREAM_API_KEY"',
    ],
    [
      'an upstream without a key',
      { kind: 'upstream', baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: null },
      'base_url = "http://127.0.0.1:1/v1"\nrequires_openai_auth = false',
    ],
    [
      "the login, at codex's own address",
      DIRECT_LOGIN,
      'requires_openai_auth = true\nhttp_headers.version = "1.2.3"',
    ],
    [
      'the login, by way of a relay',
      { ...DIRECT_LOGIN, login: 'api-key', baseUrl: 'http://127.0.0.1:2' },
      'base_url = "http://127.0.0.1:2"\nrequires_openai_auth = true',
    ],
    [
      'the demo model',
      { kind: 'demo', baseUrl: 'http://127.0.0.1:3/v1' },
      'base_url = "http://127.0.0.1:3/v1"\nrequires_openai_auth = false',
    ],
    [
      'no backend: nothing leaves the machine',
      { kind: 'none' },
      'base_url = "http://127.0.0.1:9"\nrequires_openai_auth = false',
    ],
  ])('%s', (_, backend, expected) => {
    expect(provider(backend)).toBe(`${FIXED}\n${expected}`);
  });

  it("sets the account URLs of a login if they differ from codex's default", () => {
    const rootOf = (backend: BackendTarget): readonly string[] =>
      configToml({
        backend,
        catalogueFile: '/s/catalog.json',
        codexVersion: '1.2.3',
        allowsFeedback: false,
        untrusted: [],
      })
        .split('\n')
        .slice(0, 3);
    expect([
      rootOf(DIRECT_LOGIN),
      rootOf({ ...DIRECT_LOGIN, chatgptBaseUrl: 'http://127.0.0.1:2/backend-api' }),
    ]).toEqual([
      ['model_provider = "proxy"', 'model_catalog_json = "/s/catalog.json"', 'web_search = "disabled"'],
      [
        'model_provider = "proxy"',
        'model_catalog_json = "/s/catalog.json"',
        'chatgpt_base_url = "http://127.0.0.1:2/backend-api"',
      ],
    ]);
  });

  it('produces exactly this text', () => {
    expect(
      configToml({
        backend: { kind: 'demo', baseUrl: 'http://127.0.0.1:3/v1' },
        catalogueFile: '/s/catalog.json',
        codexVersion: '1.2.3',
        allowsFeedback: false,
        untrusted: ['/srv/a "repo"', '/srv'],
      }),
    ).toMatchInlineSnapshot(`
      "model_provider = "proxy"
      model_catalog_json = "/s/catalog.json"
      web_search = "disabled"
      include_permissions_instructions = false
      include_environment_context = false
      include_apps_instructions = false
      include_collaboration_mode_instructions = false
      project_doc_max_bytes = 0
      suppress_unstable_features_warning = true
      check_for_update_on_startup = false
      cli_auth_credentials_store = "file"
      thread_unload_delay_secs = 0

      [model_providers.proxy]
      name = "proxy"
      wire_api = "responses"
      supports_websockets = false
      request_max_retries = 0
      stream_max_retries = 0
      stream_idle_timeout_ms = 86400000
      base_url = "http://127.0.0.1:3/v1"
      requires_openai_auth = false

      [skills]
      include_instructions = false
      bundled.enabled = false

      [agents]
      enabled = false
      interrupt_message = false

      [features]
      shell_tool = false
      unified_exec = false
      goals = false
      view_image = false
      apps = false
      plugins = false
      image_generation = false
      hooks = false
      tool_suggest = false
      sleep_tool = false
      browser_use = false
      computer_use = false
      in_app_browser = false
      code_mode_host = false
      shell_snapshot = false
      memories = false
      unified_image_budget = false
      skill_search = false
      enable_request_compression = false
      unbounded_connection_retries = false

      [tools]
      experimental_request_user_input.enabled = false
      update_plan.enabled = false

      [orchestrator]
      skills.enabled = false
      mcp.enabled = false

      [history]
      persistence = "none"

      [analytics]
      enabled = false

      [feedback]
      enabled = false

      [projects."/srv/a \\"repo\\""]
      trust_level = "untrusted"

      [projects."/srv"]
      trust_level = "untrusted"
      "
    `);
  });
});

describe('the configuration of agents', () => {
  const settings = {
    backend: { kind: 'demo', baseUrl: 'http://127.0.0.1:3/v1' },
    catalogueFile: '/s/catalog.json',
    codexVersion: '1.2.3',
    allowsFeedback: false,
    untrusted: [],
  } as const;
  const sandbox = {
    standard: 'nothing',
    profiles: {
      nothing: { filesystem: { ':minimal': 'read' }, network: { enabled: false } },
      'write-my "shop"': {
        filesystem: {
          ':minimal': 'read',
          ':workspace_roots': { '.': 'write', '.env': 'deny' },
          '/var/lib/a.b': 'deny',
        },
        network: { enabled: true, domains: { '*.example.com': 'allow' } },
      },
    },
  } as const;

  it('differs from the clean prompt in its tools and their sandboxes only', () => {
    const plain = new Set(configToml(settings).split('\n'));
    const own = configToml({ ...settings, sandbox }).split('\n');
    expect(own.filter((line) => !plain.has(line)).join('\n')).toMatchInlineSnapshot(`
      "include_environment_context = true
      approval_policy = "on-request"
      default_permissions = "nothing"
      shell_tool = true
      unified_exec = true
      view_image = true
      network_proxy = true
      update_plan.enabled = true
      [shell_environment_policy]
      inherit = "core"
      [permissions."nothing".filesystem]
      ":minimal" = "read"
      [permissions."nothing".network]
      [permissions."write-my \\"shop\\"".filesystem]
      ":minimal" = "read"
      "/var/lib/a.b" = "deny"
      [permissions."write-my \\"shop\\"".filesystem.":workspace_roots"]
      "." = "write"
      ".env" = "deny"
      [permissions."write-my \\"shop\\"".network]
      enabled = true
      [permissions."write-my \\"shop\\"".network.domains]
      "*.example.com" = "allow""
    `);
    expect(configToml({ ...settings, sandbox: null })).toBe(configToml(settings));
  });
});

describe('tomlString', () => {
  it.each([
    ['plain', '"plain"'],
    [String.raw`C:\codex "home"`, String.raw`"C:\\codex \"home\""`],
    ['a\nb\tc\u0001', String.raw`"a\nb\tc\u0001"`],
    ['\u007f', String.raw`"\u007f"`],
    ['é😀', '"é😀"'],
    ['\ud800', '"\ufffd"'],
  ])('%j', (text, expected) => {
    expect(tomlString(text)).toBe(expected);
  });
});
