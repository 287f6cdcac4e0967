import type { Reporter, TestModule } from 'vitest/node';

/** Prints at the end of a run which tests failed first and passed when they were run once more, and why they failed. */
export default class RetryReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((module) =>
      [...module.children.allTests('passed')]
        .filter((test) => test.diagnostic()?.flaky === true)
        .map((test) => {
          const [first = ''] = (test.result().errors?.[0]?.message ?? '').split('\n');
          return `passed only on its second run: ${module.relativeModuleId} > ${test.fullName}: ${first}`;
        }),
    );
    if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);
  }
}
