/** How often a test repeats something. `TEST_RUNS` multiplies it: `npm test` has a short form of what could run for hours. */
export const runs = (usual: number): number => Math.ceil(usual * Number(process.env['TEST_RUNS'] ?? 1));
