// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ServerDiagnosticsGauge } from "./ServerDiagnosticsGauge.ts";
import type { ServerDiagnosticsProcess } from "./ServerDiagnosticsProcess.ts";

export type ServerDiagnosticsResponse = { process: ServerDiagnosticsProcess, gauges: Array<ServerDiagnosticsGauge>, };
