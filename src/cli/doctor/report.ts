import { jsonLines } from '../../kit/text/display.ts';
import { VERSION } from '../../version.ts';
import type { CommandContext } from '../command.ts';
import { runCheck, type Check, type Finding, type Grade } from './finding.ts';

/** Collects findings: printed as they arrive for people, at the end for programs. */
export class Report {
  readonly #world: CommandContext;
  readonly #isJson: boolean;
  readonly #findings: (Finding & { readonly check: string })[] = [];

  constructor(world: CommandContext, isJson: boolean) {
    this.#world = world;
    this.#isJson = isJson;
  }

  async ask(check: Check): Promise<Finding> {
    const progress = this.#world.progress(`checking ${check.name}`);
    // A check ends within its limit, and never throws.
    const finding = await runCheck(check);
    progress.end();
    this.#findings.push({ check: check.name, ...finding });
    if (!this.#isJson) this.#world.out(lineOf(check.name, finding));
    return finding;
  }

  /** Prints a message before the findings it belongs to. */
  say(text: string): void {
    if (!this.#isJson) this.#world.out(text);
  }

  /** Resolves to the exit code. */
  end(): number {
    const problems = this.#count('problem');
    if (this.#isJson) {
      const report = { version: VERSION, ok: problems === 0, findings: this.#findings };
      this.#world.out(jsonLines(report));
    } else {
      this.#world.out(`\n${counted(problems, 'problem')}, ${counted(this.#count('warning'), 'warning')}.\n`);
    }
    return problems === 0 ? 0 : 1;
  }

  #count(grade: Grade): number {
    return this.#findings.filter((finding) => finding.grade === grade).length;
  }
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

const lineOf = (check: string, { grade, says, advice }: Finding): string => {
  const indent = `\n${' '.repeat(GRADE_WIDTH + NAME_WIDTH)}`;
  const text = says.replaceAll('\n', indent);
  const hint = advice === null ? '' : `${indent}→ ${advice.replaceAll('\n', `${indent}  `)}`;
  return `${grade.padEnd(GRADE_WIDTH)}${check.padEnd(NAME_WIDTH)}${text}${hint}\n`;
};

const GRADE_WIDTH = 9;
const NAME_WIDTH = 14;
