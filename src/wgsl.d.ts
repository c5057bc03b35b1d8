// Shader files are imported as text on both runtimes; this line tells the type checkers so.
declare module "*.wgsl" {
  const text: string;
  export default text;
}
