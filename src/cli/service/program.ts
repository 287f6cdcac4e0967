import path from 'node:path';

/** The Node and the script that a service runs. */
export interface Program {
  readonly node: string;
  readonly script: string;
}

interface Machine {
  /** The folder of this package or clone. */
  readonly root: string;
  /** The running Node. */
  readonly node: string;
  /** The versions of Node and of this package. */
  readonly versions: readonly string[];
  /** Folders for temporary files. */
  readonly temporary: readonly string[];
  exists(file: string): boolean;
}

export interface FoundProgram extends Program {
  /** Why a service cannot use it, and what to do instead; null: it can. */
  readonly refusal: string | null;
  readonly warnings: readonly string[];
}

/** Finds what a service can still run tomorrow. */
export const findProgram = (machine: Machine): FoundProgram => {
  const program = {
    node: lastingNode(machine),
    script: path.join(machine.root, 'bin', 'codex-app-server-proxy.js'),
  };
  const cache = CACHES.find(([pattern]) => pattern.test(machine.root))?.[1];
  const isTemporary = machine.temporary.some((folder) => isBelow(machine.root, folder));
  const place = cache ?? (isTemporary ? 'a folder for temporary files' : null);
  return {
    ...program,
    refusal:
      place === null
        ? null
        : `This copy of the program is in ${place} (${machine.root}) and will not stay there. ` +
          'Install the package with npm install --global, then run codex-app-server-proxy service install.',
    warnings: [program.node, program.script]
      .filter((file) => machine.versions.some((version) => namesVersion(file, version)))
      .map(
        (file) =>
          `${file} contains a version in its path: after an update that moves it, run service install again.`,
      ),
  };
};

/** Folders from which npm and others run a package once. */
const CACHES: readonly (readonly [RegExp, string])[] = [
  [/[\\/]_npx[\\/]/, "npx's cache"],
  [/[\\/]dlx(?:-[^\\/]+)?[\\/]/, "pnpm's cache of dlx"],
  [/[\\/]bunx-[^\\/]+[\\/]/, "bunx's cache"],
  [/[\\/]xfs-[^\\/]+[\\/]/, "Yarn's cache of dlx"],
];

/** Homebrew removes the folder of a version at an update; the link below `opt` stays. */
const lastingNode = (machine: Machine): string => {
  const { node } = machine;
  const [, prefix, formula] = /^(.+)\/Cellar\/([^/]+)\/[^/]+\/bin\/node$/.exec(node) ?? [];
  const link = `${prefix}/opt/${formula}/bin/node`;
  return prefix !== undefined && machine.exists(link) ? link : node;
};

const namesVersion = (file: string, version: string): boolean =>
  path
    .dirname(file)
    .split(/[\\/@_]/)
    .some((part) => part.replace(/^(?:v|node-v?)/, '').startsWith(version));

const isBelow = (file: string, folder: string): boolean => {
  const way = path.relative(folder, file);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
};
