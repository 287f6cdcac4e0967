import { schemaWith } from '../store/operations.ts';
import { serveFile } from '../store/sqlite/serve-file.ts';
import { FEATURES } from './features.ts';

await serveFile(schemaWith(FEATURES.flatMap(({ store = [] }) => store)));
