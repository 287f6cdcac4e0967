import type { Reporter, TestModule, Vitest } from 'vitest/node';

declare module 'vitest' {
  interface TaskMeta {
    /** What a test needs that a machine may not have: the reason why it is skipped there. */
    needs?: string;
  }
}

/** A line per reason, with the number of tests that it skips. */
export const skipLines = (reasons: readonly string[]): readonly string[] => {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${count === 1 ? '1 test' : `${String(count)} tests`} skipped: ${reason}`);
};

/** Prints at the end of a run which tests were skipped, and why. */
export default class SkipReport implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const reasons = modules.flatMap((module) =>
      [...module.children.allTests('skipped')].flatMap((test) => {
        const { note } = test.result() as { readonly note?: string };
        const reason = note ?? test.meta().needs;
        if (reason !== undefined) return [reason];
        // `-t` skips all other tests, which needs no words.
        return this.#isFiltered ? [] : [`no reason is given (${module.relativeModuleId}: ${test.fullName})`];
      }),
    );
    const lines = skipLines(reasons);
    if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}
