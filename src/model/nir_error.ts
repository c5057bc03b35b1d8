/** How errors about a model are worded: the node first, then what is wrong and what to do. */
import { type Facts, GanglionError } from "../base/errors.ts";

/** `Node "lif1": text`, with the node's name among the facts. */
export function invalidNode(node: string, text: string, facts: Facts = {}): GanglionError {
  return new GanglionError("model_invalid", `Node "${node}": ${text}`, { node, ...facts });
}

export function unsupportedNode(node: string, text: string, facts: Facts = {}): GanglionError {
  return new GanglionError("model_unsupported", `Node "${node}": ${text}`, { node, ...facts });
}

/** A fault of the graph as a whole; `facts` names the nodes concerned. */
export function invalidGraph(text: string, facts: Facts = {}): GanglionError {
  return new GanglionError("model_invalid", text, facts);
}

/** `[2,34,34]`, as shapes are written everywhere. */
export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(",")}]`;
}

/** Names for a sentence, quoted; the first `most` of many. */
export function listNames(names: readonly string[], most = 8): string {
  // Edges may name anything, so control characters are escaped as JSON does.
  const shown = names.slice(0, most).map((name) => JSON.stringify(name)).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
