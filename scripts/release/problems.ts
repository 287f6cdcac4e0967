/** Checks of a release. Pure: each function takes what was read and returns the problems. */

export interface Versions {
  readonly inPackage: string;
  readonly inLock: string;
}

/** The newest dated section of the changelog must be that of the version, with a valid date. */
export const versionProblems = ({ inPackage, inLock }: Versions, changelog: string): readonly string[] => {
  const headings = [...changelog.matchAll(/^## \[([^\]]+)\](?: - (\S+))?$/gm)];
  const [, version, date] = headings.find(([, name]) => name !== 'Unreleased') ?? [];
  return [
    ...(inLock === inPackage ? [] : [`package-lock.json has version ${inLock}, package.json ${inPackage}.`]),
    ...(version === inPackage
      ? []
      : [`The newest section of CHANGELOG.md is ${version ?? 'missing'}, the version is ${inPackage}.`]),
    ...(date !== undefined && /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date))
      ? []
      : [`The section of ${version ?? inPackage} in CHANGELOG.md has no date such as 2026-11-16.`]),
  ];
};

const REQUIRED = [
  'package.json',
  'README.md',
  'LICENSE',
  'SECURITY.md',
  'CHANGELOG.md',
  'bin/codex-app-server-proxy.js',
  'dist/main.js',
  'dist/sbom.json',
  'console/dist/index.html',
  'docs/configuration.md',
  'docs/config.schema.json',
  'docs/operating.md',
];

/** The files allowed in the package. */
const ALLOWED =
  /^(?:package\.json|[A-Z]+(?:\.md)?|bin\/.+\.js|dist\/.+\.js(?:on)?|console\/dist\/.+|docs\/.+|examples\/.+)$/;
const FORBIDDEN = /\.map$|\.test\.|(?:^|\/)(?:tests?|node_modules|__snapshots__)\//;

/** `files` are the paths in the package. */
export const contentProblems = (files: readonly string[]): readonly string[] => [
  ...REQUIRED.filter((file) => !files.includes(file)).map((file) => `The package has no ${file}.`),
  ...files
    .filter((file) => !ALLOWED.test(file) || FORBIDDEN.test(file))
    .map((file) => `The package contains ${file}, which does not belong there.`),
];

/** The SBOM must be of this version, list packages, and contain no URL but that of its schema. */
export const sbomProblems = (text: string, version: string): readonly string[] => {
  const { metadata, components } = JSON.parse(text) as {
    readonly metadata: { readonly component: { readonly version: string } };
    readonly components: readonly unknown[];
  };
  const hosts = [...new Set([...text.matchAll(/https?:\/\/([^/"]+)/g)].map(([, host]) => host))];
  return [
    ...(metadata.component.version === version ? [] : [`The SBOM is that of ${metadata.component.version}.`]),
    ...(components.length > 0 ? [] : ['The SBOM lists no packages.']),
    ...hosts.filter((host) => host !== 'cyclonedx.org').map((host) => `The SBOM names the host ${host}.`),
  ];
};
