/** The files that `docker build` sees: those that `.dockerignore` does not exclude. Later lines win, as in Docker. */
export const buildContext = (files: readonly string[], dockerignore: string): readonly string[] => {
  const rules = dockerignore
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ isKept: line.startsWith('!'), pattern: patternOf(line.replace(/^!/, '')) }));
  return files.filter((file) => rules.findLast(({ pattern }) => pattern.test(file))?.isKept ?? true);
};

/** A pattern also matches everything below what it names. */
const patternOf = (text: string): RegExp => {
  const source = text
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*\*\/|\*\*|\*|\?/g, (glob) => GLOBS[glob] ?? '');
  return new RegExp(`^${source}(?:/.*)?$`);
};

const GLOBS: Readonly<Record<string, string>> = {
  '**/': '(?:.*/)?',
  '**': '.*',
  '*': '[^/]*',
  '?': '[^/]',
};
