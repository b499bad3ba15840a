"""The controls of the live viewer: what can be seen, changed and saved, each with a word on what it does."""

from __future__ import annotations

from typing import Any

from deepume.result import Hypothesis, Registration
from deepume.transform import RigidTransform, rotation_angle
from deepume.viewer.arrows import MomentsOf
from deepume.viewer.choices import candidates
from deepume.viewer.coloring import MEANING, Coloring
from deepume.viewer.facts import confidence_words, symmetry_words
from deepume.viewer.scene import Scene


class Panel:
    """Controls on a viser server; the viewer listens to them and does what they say."""

    def __init__(self, gui: Any, scene: Scene, channels: int):
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(0, 114, 178))
        gui.set_panel_label("deepume")
        gui.main_panel.dock_right()
        self.answer = gui.add_markdown("")
        self.hypothesis = gui.add_dropdown("Hypothesis", ["1"], hint="Candidate poses, best first.")
        self.part = gui.add_slider("Start to answer", 0.0, 1.0, 0.01, 1.0, hint="Moves the source on its way.")
        with gui.add_folder("Show"):
            self.start = gui.add_checkbox("Source as given", True)
            self.aligned = gui.add_checkbox("Aligned source", True)
            self.target = gui.add_checkbox("Target", True)
            self.axes = gui.add_checkbox("Principal frames", False, hint="Axes of each cloud, longest first.")
            self.moments = gui.add_checkbox("Moment vectors", False, hint="They turn with the cloud.")
            self.moments_of = gui.add_dropdown("Moments of", [str(each) for each in MomentsOf], visible=False)
        with gui.add_folder("Color"):
            self.coloring = gui.add_dropdown("Color by", [str(each) for each in Coloring])
            self.channel = gui.add_slider("Channel", 0, channels - 1, 1, 0, visible=False)
            self.meaning = gui.add_markdown(MEANING[Coloring.PLAIN])
        with gui.add_folder("By hand"):
            self.by_hand = gui.add_checkbox("Move the source", False, hint="Shows a handle to drag and turn.")
            self.again = gui.add_button("Register again", hint="From there; of equal fits, the nearest to your pose.")
            self.save = gui.add_button("Save pose", hint="4 x 4 matrix as text, for the hypothesis that is shown.")
        gui.add_markdown(_thinning_words(scene))

    @property
    def chosen(self) -> int:
        """Position of the hypothesis that is chosen."""
        return self.hypothesis.options.index(self.hypothesis.value)

    def offer(self, result: Registration, chosen: int) -> None:
        """List the hypotheses of a result."""
        options = tuple(
            f"{k + 1}: score {float(each.score):.2f}{', as good' if k and bool(each.equivalent) else ''}"
            for k, each in enumerate(candidates(result))
        )
        self.hypothesis.options = options
        self.hypothesis.value = options[chosen]

    def tell(self, result: Registration, shown: Hypothesis) -> None:
        """Say what is shown, and how far to trust it."""
        self.answer.content = "  \n".join(
            [
                f"**{'Sure' if result.sure else 'Not sure'}.** {pose_words(shown.target_from_source)}",
                f"Score: {float(shown.score):.3f}",
                f"Confidence: {confidence_words(result)}",
                f"Symmetry: {symmetry_words(result.symmetry)}",
                *(f"Warning: {text}" for text in (result.diagnostics.warnings if result.diagnostics else ())),
            ]
        )


def pose_words(pose: RigidTransform) -> str:
    """A pose in one sentence."""
    shift = ", ".join(f"{value:.4g}" for value in pose.translation.tolist())
    grown = "" if abs(float(pose.scale) - 1) < 1e-12 else f", scaled by {float(pose.scale):.5g}"
    return f"Turned by {float(rotation_angle(pose.rotation).rad2deg()):.2f} degrees, moved by ({shift}){grown}."


def _thinning_words(scene: Scene) -> str:
    whole, shown = scene.source_size + len(scene.whole_target), len(scene.source) + len(scene.target)
    return f"{whole:,} points" if whole == shown else f"{shown:,} of {whole:,} points are drawn, chosen at random."
