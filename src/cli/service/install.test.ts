import { homedir } from 'node:os';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { ALL_SETTINGS } from '../../compose/features.ts';
import { serviceVariables } from './install.ts';

describe('serviceVariables', () => {
  it('takes the settings that are set, with absolute paths, and how the network is reached', () => {
    const environment = {
      PORT: ' 4000 ',
      PROXY_CONFIG: 'config.json',
      PROXY_STATE_DIR: '~/state dir',
      CODEX_HOME: '/srv/codex',
      PROXY_WIRE: '',
      HTTPS_PROXY: 'http://proxy.example:3128',
      no_proxy: 'localhost',
      SSL_CERT_FILE: 'ca.pem',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      OTEL_EXPORTER_OTLP_CERTIFICATE: 'otel.pem',
      PATH: '/usr/bin',
      EDITOR: 'vi',
    };
    expect(serviceVariables(environment, '/home/ann')).toEqual({
      variables: {
        PORT: '4000',
        PROXY_CONFIG: '/home/ann/config.json',
        PROXY_STATE_DIR: path.join(homedir(), 'state dir'),
        CODEX_HOME: '/srv/codex',
        HTTPS_PROXY: 'http://proxy.example:3128',
        no_proxy: 'localhost',
        SSL_CERT_FILE: '/home/ann/ca.pem',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
        OTEL_EXPORTER_OTLP_CERTIFICATE: '/home/ann/otel.pem',
      },
      warnings: [],
    });
  });

  it('never takes a secret, a password in a URL, or a line break', () => {
    const secrets = Object.entries(ALL_SETTINGS).filter(([, { secret }]) => secret === true);
    const environment = {
      ...Object.fromEntries(secrets.map(([name]) => [name, 'hunter2'])),
      HTTPS_PROXY: 'http://ann:hunter2@proxy.example:3128',
      PROXY_UPSTREAM_BASE_URL: 'https://ann:hunter2@api.example/v1',
      PROXY_MODEL_ALIASES: '{\n"a": "b"}',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hunter2',
    };
    const { variables, warnings } = serviceVariables(environment, '/home/ann');
    expect(variables).toEqual({});
    expect(warnings).toHaveLength(secrets.length + 4);
    expect(warnings).toEqual(
      expect.arrayContaining([
        'PROXY_UPSTREAM_API_KEY is a secret and is not written into the file: put it into the config file, see docs/configuration.md.',
        'HTTPS_PROXY contains a password and is not written into the file: the service runs without it.',
        'PROXY_MODEL_ALIASES contains line breaks or control characters and is not written into the file.',
      ]),
    );
    expect(warnings.join('')).not.toContain('hunter2');
  });
});
