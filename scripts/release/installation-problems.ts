import { existsSync } from 'node:fs';
import path from 'node:path';

import { answersOf, outputOf, type Installation } from './installed.ts';

/** The problems of one way to run the package: version, doctor, first answer, console, keys and service. */
export const installationProblems = async (
  installation: Installation,
  version: string,
): Promise<readonly string[]> => {
  const { title } = installation;
  const said = await outputOf(installation, ['--version']);
  console.log(`${title}: ${said.out.trim()}`);
  if (!said.out.startsWith(`codex-app-server-proxy ${version}, codex `))
    return [`${title}: --version printed ${said.out}${said.err}`];
  const problems = [
    ...(await doctorProblems(installation)),
    ...(await answerProblems(installation)),
    ...(await keyProblems(installation)),
    ...(await serviceProblems(installation)),
  ];
  return problems.map((problem) => `${title}: ${problem}`);
};

const doctorProblems = async (installation: Installation): Promise<readonly string[]> => {
  const { out } = await outputOf(installation, ['doctor', '--json']);
  const { findings } = JSON.parse(out) as {
    findings: readonly { check: string; grade: string; says: string }[];
  };
  for (const { check, grade, says } of findings) console.log(`  ${grade} ${check}: ${says}`);
  return findings.some(({ check, grade }) => check === 'turn' && grade === 'ok')
    ? []
    : ['the doctor got no answer.'];
};

const answerProblems = async (installation: Installation): Promise<readonly string[]> => {
  const { answer, console: page } = await answersOf(installation);
  console.log(`  first answer: ${answer.slice(0, 3)}, console: ${page.slice(0, 3)}`);
  return [
    ...(answer.startsWith('200 ') && answer.includes('"output_text"')
      ? []
      : [`the server answered: ${answer.slice(0, 500)}`]),
    ...(page.startsWith('200 ') && page.includes('<script')
      ? []
      : [`the console was: ${page.slice(0, 500)}`]),
  ];
};

const keyProblems = async (installation: Installation): Promise<readonly string[]> => {
  const { code, out, err } = await outputOf(installation, ['keys', 'list']);
  console.log(`  keys list: ${code}`);
  return code === 0 ? [] : [`keys list ended with ${code}: ${out}${err}`];
};

/** Shows the file of a service. The folder of this test is temporary, so that a service is refused. */
const serviceProblems = async (installation: Installation): Promise<readonly string[]> => {
  if (process.platform === 'win32') return [];
  const { code, out, err } = await outputOf(installation, ['service', 'install', '--print']);
  const refused = await outputOf(installation, ['service', 'install', '--yes']);
  const written = ['.config/systemd', 'Library/LaunchAgents'].filter((name) =>
    existsSync(path.join(installation.home, name)),
  );
  console.log(`  service install: shown, and refused (${refused.code})`);
  return [
    ...(code === 0 && out.includes('/bin/codex-app-server-proxy.js')
      ? []
      : [`service install --print ended with ${code}: ${out}${err}`]),
    ...(refused.code === 1 && refused.err.includes('will not stay there')
      ? []
      : [`service install --yes ended with ${refused.code}: ${refused.err}`]),
    ...written.map((name) => `service install wrote ${name}.`),
  ];
};
