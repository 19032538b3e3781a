"""Machine code of functions that call one another, made once: for the one among them that Python calls.

numba makes some of each function, though nobody runs that of one which only compiled ones call, and optimises it as a
whole, and again in each that has got it from another. Here such a function, a part, waits for the whole that is made of
it. Making the kernels of a model takes half as long.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NoPythonSupportedFeatureValidation

ENVIRONMENT = "_ZN08NumbaEnv"  # what the names of their variables begin with


class Part(JITCodeLibrary):  # type: ignore[misc]
    """What stands in others, and nowhere by itself."""

    @property
    def codegen(self) -> Any:
        """For those who would tell machine code that is not there."""
        return _Untold(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        """None."""
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        """No more than keeps it small."""
        short = {"opt": 0, "loop_vectorize": False, "slp_vectorize": False, "cost": "cheap"}
        passes, builder = self._codegen._module_pass_manager(**short)
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class PartApart(Part):
    """One that stays a function in the whole: LLVM takes more than twice as long for code twice as long."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        for each in self._final_module.functions:
            if not each.is_declaration and each.linkage == Linkage.external:
                each.add_function_attribute("noinline")


class Whole(JITCodeLibrary):  # type: ignore[misc]
    """What Python calls, with parts of its own, which the linker is not told of.

    A call that is left to it is bound to other machine code in the process that compiles than in those that load, and a
    sum in vectors may have other last bits there. Of functions that are internal it would hear, and bind calls of other
    modules to them, though they take their arguments in ways of their own by then.
    """

    def _optimize_final_module(self) -> None:
        for each in self._final_module.functions:
            if not each.is_declaration and each.linkage == Linkage.linkonce_odr:
                each.linkage = Linkage.private
        super()._optimize_final_module()

    def _finalize_specific(self) -> None:
        """What parts would have told their own machine code."""
        super()._finalize_specific()
        for each in self._final_module.global_variables:
            found = lookup_environment(each.name) if each.name.startswith(ENVIRONMENT) else None
            if found is not None:
                self._codegen.set_env(each.name, found)


class _Untold:
    """A code generator, of functions that nobody runs."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing asks for it."""


def _pipeline(library: type[JITCodeLibrary]) -> Any:
    """numba's own, which makes libraries of this kind."""

    @register_pass(mutates_CFG=False, analysis_only=True)
    class Begin(FunctionPass):  # type: ignore[misc]
        _name = f"begin_{library.__name__}"

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: Any) -> bool:
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return False

    class Pipeline(CompilerBase):  # type: ignore[misc]
        def define_pipelines(self) -> list[Any]:
            found = DefaultPassBuilder.define_nopython_pipeline(self.state)
            found.add_pass_after(Begin, NoPythonSupportedFeatureValidation)
            found.finalize()
            return [found]

    return Pipeline


PART, PART_APART, WHOLE = map(_pipeline, (Part, PartApart, Whole))
"""Each a `pipeline_class`."""
