import { ALL_SETTINGS } from '../../compose/feature-tables.ts';
import type { SettingRow } from '../../config/setting-row.ts';
import { absolutePath } from '../../config/value.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ServiceVariables {
  readonly variables: Readonly<Record<string, string>>;
  /** Sentences about variables that are set here and are not written into the file. */
  readonly warnings: readonly string[];
}

/** How the network is reached, which a service manager does not know. */
const NETWORK = [
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'https_proxy',
  'http_proxy',
  'all_proxy',
  'no_proxy',
];
const CERTIFICATES = ['CODEX_CA_CERTIFICATE', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'];
/** Read by OpenTelemetry. Their headers hold keys. */
const TELEMETRY = /^OTEL_/;
const TELEMETRY_SECRET = /^OTEL_\w*HEADERS$/;
const TELEMETRY_PATH = /^OTEL_\w*(?:CERTIFICATE|CLIENT_KEY)$/;

const settingNamed = (name: string): SettingRow | null => ALL_SETTINGS[name] ?? null;

/**
 * The variables of this environment that the server reads. Paths become absolute. A secret is never among them: service
 * managers show the environment of a service to others.
 */
export const serviceVariables = (environment: Environment, directory: string): ServiceVariables => {
  const variables: Record<string, string> = {};
  const warnings: string[] = [];
  const telemetry = Object.keys(environment).filter((name) => TELEMETRY.test(name));
  for (const name of [...Object.keys(ALL_SETTINGS), ...NETWORK, ...CERTIFICATES, ...telemetry]) {
    const value = environment[name]?.trim() ?? '';
    if (value === '') continue;
    const setting = settingNamed(name);
    const isPath = setting?.type.isPath === true || CERTIFICATES.includes(name) || TELEMETRY_PATH.test(name);
    if (isSecret(setting, value) || TELEMETRY_SECRET.test(name)) {
      warnings.push(
        setting === null
          ? `${name} contains a password and is not written into the file: the service runs without it.`
          : `${name} is a secret and is not written into the file: put it into the config file, see docs/configuration.md.`,
      );
    } else if (CONTROLS.test(value)) {
      warnings.push(`${name} contains line breaks or control characters and is not written into the file.`);
    } else variables[name] = isPath ? absolutePath(value, directory) : value;
  }
  return { variables, warnings };
};

/** A URL may contain a password, too. */
const isSecret = (setting: SettingRow | null, value: string): boolean =>
  setting?.secret === true || /\/\/[^/?#]*@/.test(value);

// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const CONTROLS = /[\u0000-\u001F\u007F-\u009F]/;
