import type { FeatureFailures } from '../canonical/failure/failure.ts';
import type { McpServer } from '../canonical/mcp/mcp-server.ts';
import type { McpToolList } from '../canonical/mcp/mcp-tools.ts';
import type { Workspace } from '../canonical/mcp/workspace.ts';
import type { ModelPrices } from '../canonical/models/prices.ts';
import type { CodexHomes } from '../codex/home/prepare-home.ts';
import type { AgentLimits } from '../config/agent-limits.ts';
import type { ValuesOf } from '../config/schema.ts';
import type { SettingTable } from '../config/setting-row.ts';
import type { Engine } from '../engine/engine.ts';
import type { ListedMcp, McpAccess } from '../engine/mcp/mcp-tools.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import type { BodyDeps } from '../http/body/read-json.ts';
import type { CaptureFiles } from '../http/exchange/trace-request.ts';
import type { Authenticator, ConfiguredKeys } from '../http/guards/authenticate.ts';
import type { Exchanges } from '../http/exchange/exchanges.ts';
import type { TrustedProxies } from '../http/guards/client-address.ts';
import type { Cors } from '../http/guards/cors.ts';
import type { Upgrades } from '../http/listen/upgrade.ts';
import type { Route } from '../http/route.ts';
import type { Background, ReadChanges, TurnDeps } from '../http/turn/start-turn.ts';
import type { JsonObject } from '../kit/json/json.ts';
import type { PlacedRow } from '../kit/collections/merge-rows.ts';
import type { Ambient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { MetricTable } from '../observe/metric-row.ts';
import type { MetricsOf } from '../observe/metrics.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { StorePart } from '../store/part.ts';
import type { Store } from '../store/store.ts';
import type { Api } from '../turns/api.ts';
import type { TurnGate } from '../turns/turn-gate.ts';
import type { TurnStates } from '../turns/turn-state.ts';

/** A route of a feature as docs and pins show it. What it does is among the `routes` of the open feature. */
export interface RouteRow extends PlacedRow, Pick<Route, 'access' | 'scopes'> {
  /** What it is for, in docs/http-api.md. */
  readonly about: string;
}

/**
 * What a feature adds to the tables of the server. Plain data: the command line, the docs and the SQLite thread load it
 * without the code of the feature.
 */
export interface FeatureTables {
  /** By their names in the environment. */
  readonly settings?: SettingTable;
  /** By their codes. `featureErrors` makes them. */
  readonly failures?: FeatureFailures;
  /** By their names in the code. */
  readonly metrics?: MetricTable;
  /** By method and path. */
  readonly routes?: Readonly<Record<`${Route['method']} ${string}`, RouteRow>>;
}

type TableIn<Tables extends FeatureTables, Name extends keyof FeatureTables> =
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- a table that it does not have is empty
  Tables[Name] extends NonNullable<FeatureTables[Name]> ? Tables[Name] : Record<never, never>;

/** Times that tests shorten; absent: the usual ones. */
export interface TestTimes {
  /** How old a WebSocket may become. */
  readonly socketMaxAgeMs?: number;
  /** Between two pings of a WebSocket. */
  readonly socketPingMs?: number;
  /** Between two renewals of the lease of a background response. */
  readonly leaseEveryMs?: number;
}

/** What is there before the features are opened. */
export interface Core {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly ambient: Ambient;
  readonly logger: Logger;
  /** Null: nothing is stored. */
  readonly store: Store | null;
  /** How long what is stored is kept. */
  readonly storeTtlMs: number;
  /** The APIs that run turns, at all of their paths. */
  readonly apis: readonly Api[];
  readonly models: ModelDirectory;
  /** What models cost, from the config file. */
  readonly prices: ModelPrices;
  /** The MCP servers of the deployment, from its file or the config file. */
  readonly mcpServers: readonly McpServer[];
  /** The folders in which codex may work, from the same place. */
  readonly workspaces: readonly Workspace[];
  /** The files of the configuration, which commands in them never see. */
  readonly secretPaths: readonly string[];
  /** Of sessions of agents, from the config file. */
  readonly agentLimits: AgentLimits;
  /** Limits the bodies of requests. */
  readonly bodies: BodyDeps;
  /** Of the bodies of all requests. */
  readonly maxBytesInFlight: number;
  readonly waits: {
    /** How long a request waits for a place. */
    readonly queueMs: number;
    /** The same, if its client does not wait for it. */
    readonly backgroundQueueMs: number;
    /** How long a provider may send nothing. */
    readonly idleMs: number;
    /** How long a client may send nothing of a body or a message. */
    readonly uploadIdleMs: number;
  };
  /** Limits of the app-servers. */
  readonly appServers: Readonly<Record<'hangTimeoutMs' | 'maxThreads' | 'maxRssMb' | 'maxHomeMb', number>>;
  readonly times: TestTimes;
  /** Counts a request that was refused for lack of room. */
  readonly onRefused: (reason: string) => void;
  /** The keys of the settings, or that of the installation. */
  readonly configuredKeys: ConfiguredKeys;
  /** Finds the address of a client behind reverse proxies. */
  readonly proxies: TrustedProxies;
  /** Which web pages may use this server. */
  readonly cors: Cors;
  /** The folder for what this server keeps in files. */
  readonly stateDir: string;
  /** The values of the settings that must not get out. */
  readonly secrets: readonly string[];
  /** The settings that change what becomes of a request, without keys and addresses. */
  readonly translatorSettings: object;
  /** The login of the backend. */
  readonly login: {
    readonly homes: CodexHomes;
    /** The setting that takes precedence over it; null: it is used. */
    readonly overriddenBy: string | null;
    /** Has the server use a changed login at once. */
    follow(): Promise<void>;
  };
  /** What runs turns. Throws until all features are open, as the next ones do. */
  turns(): TurnDeps;
  /** What answers one model request: the engine without `aroundEngine`. */
  engine(): Engine;
  /** The requests that are being answered. */
  exchanges(): Exchanges;
  /** Tells all features about a request. */
  observer(): RequestObserver;
  /** Asks the backend for the tools of the MCP servers. */
  listMcpTools(): Promise<readonly ListedMcp[]>;
}

/** A workspace among the MCP servers of a list. */
export interface ListedWorkspace {
  readonly workspace: Workspace;
  readonly list: McpToolList;
  /** The runs that work in it now. */
  readonly active: number;
}

/** What features offer to those after them in the list, and to the server. A later offer replaces an earlier one. */
export interface Offers {
  /** Finds the sender of a request. */
  readonly authenticate: Authenticator;
  /** Decides what a key may do. */
  readonly gate: TurnGate;
  /** Whether the key has the scope `admin`. Those of the configuration have it. */
  readonly isAdmin: (keyId: string) => boolean;
  /** The name of a key; null: it has none. */
  readonly keyName: (keyId: string) => string | null;
  /** The limits of a key and what it has used of them, as the API shows them. */
  readonly limitsOf: (keyId: string) => Promise<readonly JsonObject[]>;
  /** The workspaces that a key may use, as patterns of their names. Those of the configuration may use all. */
  readonly workspacesOf: (keyId: string) => readonly string[] | 'all';
  /** The workspaces that a key may use, for lists of MCP servers. */
  readonly listWorkspaces: (keyId: string) => Promise<readonly ListedWorkspace[]>;
  /** The changes in a workspace, for reviews. */
  readonly readChanges: ReadChanges;
  /** What requests refer to and leave behind. */
  readonly states: TurnStates;
  /** Responses that run without their clients; null: there are none. */
  readonly background: Background | null;
  /** Writes whole requests to files. */
  readonly captures: CaptureFiles;
  /** How turns reach MCP servers. */
  readonly mcp: McpAccess;
  /** The engine that runs turns, around the one that answers model requests. */
  readonly aroundEngine: (engine: Engine) => Engine;
  readonly hasConsole: boolean;
  /** Whether the answer to a request is never shared with pages of other origins. */
  readonly isPrivate: (http: Request) => boolean;
}

/** What a feature gets besides the core: its own settings and metrics, and what those before it offer. */
export interface Own<Tables extends FeatureTables> {
  readonly settings: ValuesOf<TableIn<Tables, 'settings'>>;
  readonly metrics: MetricsOf<TableIn<Tables, 'metrics'>>;
  readonly offers: Offers;
}

/** A feature that runs. */
export interface OpenFeature<Tables extends FeatureTables = FeatureTables> {
  /** What its routes do; absent: they are not served. */
  readonly routes?: Readonly<Record<keyof TableIn<Tables, 'routes'> & string, Route['handle']>>;
  /** Watches every request. */
  readonly observer?: RequestObserver;
  /** Opens WebSockets. At most one feature does. */
  readonly upgrades?: Upgrades;
  readonly offers?: Partial<Offers>;
  /** Called when all features are open: work that needs turns can begin. */
  start?(): void;
  /** Called first when the server stops: requests may still run for so long. */
  drain?(timeoutMs: number): Promise<void>;
  close?(): Promise<void>;
}

/** A capability of the server: everything about it is in one folder below src/features, and one line in `features.ts`. */
export interface Feature extends FeatureTables {
  readonly name: string;
  readonly store?: StorePart | readonly StorePart[];
  open(core: Core, own: Own<FeatureTables>): Promise<OpenFeature>;
}

interface FeatureCode<Tables extends FeatureTables> {
  readonly store?: StorePart | readonly StorePart[];
  /** Imports the code of the feature, so that only a server loads it. */
  open(core: Core, own: Own<Tables>): Promise<OpenFeature<Tables>>;
}

/** Checks that a feature opens with its own tables. */
export const feature = <Tables extends FeatureTables>(
  name: string,
  tables: Tables,
  code: FeatureCode<Tables>,
): Feature => {
  const whole: unknown = { name, ...tables, ...code };
  return whole as Feature;
};
