interface Component {
  readonly name: string;
  readonly purl: string;
  readonly externalReferences?: readonly { readonly type: string }[];
}

interface Sbom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

/** Download URLs depend on the registry of the machine. */
const withoutDownloads = (component: Component): Component => ({
  ...component,
  externalReferences: (component.externalReferences ?? []).filter(({ type }) => type !== 'distribution'),
});

/** Pure. Removes what differs between runs or machines: times, ids, npm's version, registries, the folder's name. */
export const reproducible = (text: string): string => {
  const { serialNumber: _, ...sbom } = JSON.parse(text) as Sbom & { serialNumber?: string };
  const { component } = sbom.metadata;
  const name = component.purl.replace(/^pkg:npm\//, '').replace(/@[^@]*$/, '');
  return JSON.stringify(
    {
      ...sbom,
      metadata: { component: { ...withoutDownloads(component), type: 'application', name } },
      components: sbom.components.map(withoutDownloads),
    },
    null,
    2,
  );
};
