import { MARKER, SERVICE_NAME, type ReadDefinition, type ServiceDefinition } from './definition.ts';

/** A launchd agent of a user. `home` is its working directory; both outputs go to `log`. */
export const launchdAgent = (
  { node, script, variables, stopSeconds }: ServiceDefinition,
  { home, log }: { readonly home: string; readonly log: string },
): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<!-- ${MARKER}; service uninstall removes it. -->`,
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    ...entry('Label', string(SERVICE_NAME)),
    ...entry('ProgramArguments', '<array>', string(node), string(script), '</array>'),
    ...entry(
      'EnvironmentVariables',
      '<dict>',
      ...Object.entries(variables).flatMap(([name, value]) => entry(name, string(value))),
      '</dict>',
    ),
    ...entry('WorkingDirectory', string(home)),
    ...entry('RunAtLoad', '<true/>'),
    // Starts it again after a failure.
    ...entry('KeepAlive', '<dict>', ...entry('SuccessfulExit', '<false/>'), '</dict>'),
    ...entry('ThrottleInterval', '<integer>10</integer>'),
    ...entry('ExitTimeOut', `<integer>${stopSeconds}</integer>`),
    ...entry('StandardOutPath', string(log)),
    ...entry('StandardErrorPath', string(log)),
    '</dict>',
    '</plist>',
    '',
  ].join('\n');

const entry = (key: string, ...value: readonly string[]): readonly string[] => [
  `<key>${escaped(key)}</key>`,
  ...value,
];

const string = (text: string): string => `<string>${escaped(text)}</string>`;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** Reads what `launchdAgent` wrote. */
export const readLaunchdAgent = (text: string): ReadDefinition => {
  const [, words = ''] = /<key>ProgramArguments<\/key>\s*<array>([^]*?)<\/array>/.exec(text) ?? [];
  const [, pairs = ''] = /<key>EnvironmentVariables<\/key>\s*<dict>([^]*?)<\/dict>/.exec(text) ?? [];
  return {
    command: [...words.matchAll(/<string>([^<]*)<\/string>/g)].map(([, word = '']) => unescaped(word)),
    variables: Object.fromEntries(
      [...pairs.matchAll(/<key>([^<]*)<\/key>\s*<string>([^<]*)<\/string>/g)].map(
        ([, name = '', value = '']) => [unescaped(name), unescaped(value)],
      ),
    ),
  };
};
