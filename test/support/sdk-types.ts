import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, type Program, type TSType, type TSSignature } from 'oxc-parser';

/** A type of the package of a service, as far as JSON bodies need it. */
export type Shape =
  | { readonly kind: 'string' | 'number' | 'boolean' | 'null' | 'unknown' }
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'array'; readonly element: () => Shape }
  | { readonly kind: 'union'; readonly of: readonly Shape[] }
  | ObjectShape;

export interface ObjectShape {
  readonly kind: 'object';
  readonly fields: readonly Field[];
  /** Whether it may have other fields. */
  readonly isOpen: boolean;
}

export interface Field {
  readonly name: string;
  readonly isOptional: boolean;
  readonly shape: () => Shape;
}

type Statement = Program['body'][number];

interface Scope {
  readonly parent: Scope | null;
  readonly types: Map<string, Declared>;
  readonly namespaces: Map<string, () => Scope>;
}

type Declared = Extract<Statement, { type: 'TSInterfaceDeclaration' | 'TSTypeAliasDeclaration' }>;

const PACKAGES = path.join(import.meta.dirname, '../../node_modules');
const files = new Map<string, Scope>();

/** The type that a file of a package exports under this name. */
export const typeOf = (sdk: 'openai' | '@anthropic-ai/sdk', file: string, name: string): Shape => {
  const scope = scopeOfFile(path.join(PACKAGES, sdk, 'resources', file));
  const declared = scope.types.get(name);
  if (declared === undefined) throw new Error(`${file} of ${sdk} has no type ${name}`);
  return declaredShape(declared, scope);
};

const scopeOfFile = (file: string): Scope => {
  const known = files.get(file);
  if (known !== undefined) return known;
  const { program } = parseSync(file, readFileSync(file, 'utf8'));
  const scope = scopeOf(program.body, null);
  files.set(file, scope);
  for (const statement of program.body) {
    if (statement.type !== 'ImportDeclaration' || !statement.source.value.startsWith('.')) continue;
    const source = path.join(path.dirname(file), statement.source.value.replace(/\.js$/, '.d.ts'));
    for (const { type, local } of statement.specifiers) {
      if (type === 'ImportNamespaceSpecifier') scope.namespaces.set(local.name, () => scopeOfFile(source));
    }
  }
  return scope;
};

const scopeOf = (statements: readonly Statement[], parent: Scope | null): Scope => {
  const scope: Scope = { parent, types: new Map(), namespaces: new Map() };
  for (const statement of statements) {
    const declared =
      statement.type === 'ExportNamedDeclaration' ? (statement.declaration as Statement | null) : statement;
    if (declared?.type === 'TSInterfaceDeclaration' || declared?.type === 'TSTypeAliasDeclaration') {
      scope.types.set(declared.id.name, declared);
    }
    if (declared?.type === 'TSModuleDeclaration' && declared.body && declared.id.type === 'Identifier') {
      const inner = scopeOf((declared.body as { body: readonly Statement[] }).body, scope);
      scope.namespaces.set(declared.id.name, () => inner);
    }
  }
  return scope;
};

const declaredShape = (declared: Declared, scope: Scope): Shape => {
  if (declared.type === 'TSTypeAliasDeclaration') return shapeOf(declared.typeAnnotation, scope);
  const inherited = declared.extends.flatMap(({ expression }) => {
    if (expression.type !== 'Identifier') throw new Error(`${declared.id.name} extends what is not a name`);
    const shape = named([expression.name], scope);
    return shape.kind === 'object' ? [shape] : [];
  });
  return merged([...inherited, members(declared.body.body, scope)]);
};

const members = (signatures: readonly TSSignature[], scope: Scope): ObjectShape => ({
  kind: 'object',
  isOpen: signatures.some(({ type }) => type === 'TSIndexSignature'),
  fields: signatures.flatMap((one) => {
    if (one.type !== 'TSPropertySignature' || !one.typeAnnotation) return [];
    const { typeAnnotation } = one.typeAnnotation;
    const name = one.key.type === 'Identifier' ? one.key.name : String((one.key as { value: unknown }).value);
    return [{ name, isOptional: one.optional, shape: () => shapeOf(typeAnnotation, scope) }];
  }),
});

const merged = (shapes: readonly ObjectShape[]): ObjectShape => ({
  kind: 'object',
  isOpen: shapes.some(({ isOpen }) => isOpen),
  // A later declaration of a field narrows an earlier one.
  fields: [
    ...new Map(shapes.flatMap(({ fields }) => fields.map((field) => [field.name, field] as const))).values(),
  ],
});

/** The types without parts. */
const PLAIN: Readonly<Partial<Record<TSType['type'], Shape>>> = {
  TSStringKeyword: { kind: 'string' },
  TSNumberKeyword: { kind: 'number' },
  TSBooleanKeyword: { kind: 'boolean' },
  TSNullKeyword: { kind: 'null' },
  TSUnknownKeyword: { kind: 'unknown' },
};

const shapeOf = (type: TSType, scope: Scope): Shape => {
  const all = (types: readonly TSType[]): readonly Shape[] => types.map((one) => shapeOf(one, scope));
  if (type.type === 'TSTypeReference') return referred(type, scope);
  if (type.type === 'TSTypeLiteral') return members(type.members, scope);
  if (type.type === 'TSParenthesizedType') return shapeOf(type.typeAnnotation, scope);
  // `readonly` says nothing about the value.
  if (type.type === 'TSTypeOperator' && type.operator === 'readonly') {
    return shapeOf(type.typeAnnotation, scope);
  }
  if (type.type === 'TSArrayType') return { kind: 'array', element: () => shapeOf(type.elementType, scope) };
  if (type.type === 'TSLiteralType') {
    const { value } = type.literal as unknown as { readonly value: string | number | boolean };
    return { kind: 'literal', value };
  }
  if (type.type === 'TSUnionType') {
    return { kind: 'union', of: all(type.types).flatMap((one) => (one.kind === 'union' ? one.of : [one])) };
  }
  if (type.type === 'TSIntersectionType') {
    const shapes = all(type.types);
    // `string & {}` is any string.
    return (
      shapes.find(({ kind }) => kind === 'string') ?? merged(shapes.filter((one) => one.kind === 'object'))
    );
  }
  const plain = PLAIN[type.type];
  if (plain !== undefined) return plain;
  throw new Error(`a type of the package is a ${type.type}, which this reader does not know`);
};

const referred = (type: Extract<TSType, { type: 'TSTypeReference' }>, scope: Scope): Shape => {
  const names = namesIn(type.typeName);
  const [argument] = type.typeArguments?.params ?? [];
  if (names.join('.') === 'Array' && argument !== undefined) {
    return { kind: 'array', element: () => shapeOf(argument, scope) };
  }
  if (names.join('.') === 'Record') return { kind: 'object', isOpen: true, fields: [] };
  return named(names, scope);
};

type TypeName = Extract<TSType, { type: 'TSTypeReference' }>['typeName'];

const namesIn = (name: TypeName): readonly string[] => {
  if (name.type === 'Identifier') return [name.name];
  if (name.type === 'TSQualifiedName') return [...namesIn(name.left), name.right.name];
  throw new Error('a type is named by `this`');
};

/** Searches from the inside out, like the compiler. */
const named = (names: readonly string[], scope: Scope): Shape => {
  for (let at: Scope | null = scope; at !== null; at = at.parent) {
    const shape = namedIn(names, at);
    if (shape !== null) return shape;
  }
  throw new Error(`the package names a type ${names.join('.')}, which was not found`);
};

const namedIn = ([first = '', ...rest]: readonly string[], scope: Scope): Shape | null => {
  if (rest.length > 0) {
    const inner = scope.namespaces.get(first);
    return inner === undefined ? null : namedIn(rest, inner());
  }
  const declared = scope.types.get(first);
  return declared === undefined ? null : declaredShape(declared, scope);
};
