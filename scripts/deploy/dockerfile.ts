/** Reads a Dockerfile: the instructions of deploy/Dockerfile, and no others. */

export type Step =
  | { readonly kind: 'workdir'; readonly path: string }
  | {
      readonly kind: 'copy';
      readonly from: string | null;
      readonly sources: readonly string[];
      readonly to: string;
    }
  | { readonly kind: 'run'; readonly command: string };

export interface Stage {
  readonly base: string;
  readonly name: string | null;
  readonly steps: readonly Step[];
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | null;
  readonly volumes: readonly string[];
  readonly ports: readonly string[];
  /** The words of the health check's command. */
  readonly health: readonly string[] | null;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
}

/** Throws if the file contains something that this reader does not know. */
export const readDockerfile = (text: string): readonly Stage[] => {
  const stages: Draft[] = [];
  const args: Record<string, string> = {};
  for (const line of instructions(text)) {
    const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/s.exec(line) ?? [];
    if (name === 'ARG' && stages.length === 0) {
      const [key = '', value = ''] = rest.split('=');
      args[key] = value;
    } else if (name === 'FROM') {
      const [, base = '', as = null] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
      stages.push({ ...EMPTY, base: withArgs(base, args), name: as, steps: [], env: {} });
    } else {
      const stage = stages.at(-1);
      const read = READERS[name];
      if (stage === undefined || read === undefined) throw new Error(`not known: ${line}`);
      read(stage, rest);
    }
  }
  return stages;
};

type Draft = { -readonly [Key in keyof Stage]: Stage[Key] } & {
  steps: Step[];
  env: Record<string, string>;
};

const EMPTY = { user: null, volumes: [], ports: [], health: null, entrypoint: [], cmd: [] };

const instructions = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');

const withArgs = (text: string, args: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => args[name] ?? '');

const words = (json: string): readonly string[] => JSON.parse(json) as readonly string[];

const READERS: Readonly<Record<string, (stage: Draft, rest: string) => void>> = {
  WORKDIR: (stage, path) => void stage.steps.push({ kind: 'workdir', path }),
  RUN: (stage, command) => void stage.steps.push({ kind: 'run', command }),
  COPY(stage, rest) {
    const [, from = null, list = ''] = /^(?:--from=(\S+) )?([^-].*)$/.exec(rest) ?? [];
    const all = list.split(' ');
    const to = all.pop() ?? '';
    stage.steps.push({ kind: 'copy', from, sources: all, to });
  },
  ENV(stage, rest) {
    const [, name = '', value = ''] = /^(\w+)=(\S+)$/.exec(rest) ?? [];
    stage.env[name] = value;
  },
  USER: (stage, user) => void (stage.user = user),
  VOLUME: (stage, path) => void (stage.volumes = [...stage.volumes, path]),
  EXPOSE: (stage, port) => void (stage.ports = [...stage.ports, port]),
  HEALTHCHECK: (stage, rest) => void (stage.health = words(rest.replace(/^.*?CMD /, ''))),
  ENTRYPOINT: (stage, rest) => void (stage.entrypoint = words(rest)),
  CMD: (stage, rest) => void (stage.cmd = words(rest)),
};
